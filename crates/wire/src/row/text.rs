//! Values of a text row: a length and the text; `0xfb` for NULL.

use types::SqlType;
use types::array::ColumnView;

use super::cell::Cell;
use super::raw::RawValue;
use crate::charset::Transcoder;
use crate::writer::Writer;

const NULL: u8 = 0xfb;

pub(super) fn cell(
    cell: Cell,
    view: &ColumnView<'_>,
    row: usize,
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
) {
    if view.is_null(row) {
        out.push(NULL);
        return;
    }
    match cell {
        Cell::Integer { unsigned, .. } => match view.bits(row) {
            Some(bits) => integer(bits, unsigned, out),
            None => out.push(NULL),
        },
        Cell::Text | Cell::Bytes => match view.bytes(row) {
            Some(bytes) => string(cell, bytes, transcoder, out),
            None => printed(out, |out| view.write_text(row, out)),
        },
        Cell::PrintedText => printed_text(transcoder, out, |out| view.write_text(row, out)),
        _ => printed(out, |out| view.write_text(row, out)),
    }
}

#[inline(always)]
pub(super) fn value(
    cell: Cell,
    ty: &SqlType,
    value: RawValue<'_>,
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
) {
    match (cell, value) {
        (_, RawValue::Null) => out.push(NULL),
        (Cell::Integer { .. }, RawValue::Int(v)) => integer(v as u64, false, out),
        (Cell::Integer { .. }, RawValue::UInt(v)) => integer(v, true, out),
        (_, RawValue::Bytes(bytes)) => string(cell, bytes, transcoder, out),
        (Cell::PrintedText, value) => printed_text_value(ty, value, transcoder, out),
        (_, value) => printed_value(ty, value, out),
    }
}

#[inline(never)]
pub(super) fn printed_value(ty: &SqlType, value: RawValue<'_>, out: &mut Vec<u8>) {
    printed(out, |out| value.write_text(ty, out));
}

#[inline(never)]
pub(super) fn printed_text_value(
    ty: &SqlType,
    value: RawValue<'_>,
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
) {
    printed_text(transcoder, out, |out| value.write_text(ty, out));
}

/// Appends the text that `write` prints, converted to the results' character set.
pub(super) fn printed_text(
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    if transcoder.is_none() {
        return printed(out, write);
    }
    let mut text = Vec::new();
    write(&mut text);
    string(Cell::Text, &text, transcoder, out);
}

#[inline]
fn integer(bits: u64, unsigned: bool, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = if unsigned {
        buffer.format(bits)
    } else {
        buffer.format(bits as i64)
    };
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a string as `string<lenenc>`.
#[inline(always)]
pub(super) fn string(cell: Cell, bytes: &[u8], transcoder: Option<Transcoder>, out: &mut Vec<u8>) {
    match transcoder {
        Some(transcoder) if cell != Cell::Bytes => out.put_lenenc_bytes(&transcoder.encode(bytes)),
        _ => out.put_lenenc_bytes(bytes),
    }
}

/// Appends what `write` prints, with its length in front. The length nearly always takes one byte, so one
/// byte is reserved for it.
pub(super) fn printed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.push(0);
    write(out);
    let length = out.len() - start - 1;
    match out.get_mut(start) {
        Some(byte) if length <= 250 => *byte = length as u8,
        _ => {
            let text = out.split_off(start + 1);
            out.truncate(start);
            out.put_lenenc_bytes(&text);
        }
    }
}
