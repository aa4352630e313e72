//! Values of a binary row: fixed widths for numbers, short forms for times, text with a length for the rest.

use types::SqlType;
use types::array::ColumnView;
use types::temporal::{DateTime, Time};

use super::cell::Cell;
use super::raw::RawValue;
use super::text;
use crate::charset::Transcoder;
use crate::writer::Writer;

/// The bitmap's first two bits are not used in rows.
const BITMAP_OFFSET: usize = 2;

/// Appends the header and an empty bitmap of NULLs; returns the bitmap's position.
#[inline]
pub(super) fn start_row(columns: usize, out: &mut Vec<u8>) -> usize {
    let header = out.len();
    match (columns + BITMAP_OFFSET).div_ceil(8) {
        1 => out.put_bytes(&[0; 2]),
        bytes => out.put_zeros(1 + bytes),
    }
    header + 1
}

#[inline]
pub(super) fn set_null(bitmap: usize, position: usize, out: &mut [u8]) {
    let bit = position + BITMAP_OFFSET;
    if let Some(byte) = out.get_mut(bitmap + bit / 8) {
        *byte |= 1 << (bit % 8);
    }
}

/// Takes over which of the first columns are NULL, from the bitmap of another row.
pub(super) fn repeat_nulls(from: usize, to: usize, columns: usize, out: &mut [u8]) {
    let bits = columns + BITMAP_OFFSET;
    for at in 0..bits.div_ceil(8) {
        let kept = match bits - at * 8 {
            some @ 0..8 => (1_u8 << some) - 1,
            _ => u8::MAX,
        };
        let nulls = out.get(from + at).map_or(0, |byte| byte & kept);
        if let Some(byte) = out.get_mut(to + at) {
            *byte |= nulls;
        }
    }
}

/// Appends a value that is not NULL.
pub(super) fn cell(
    cell: Cell,
    view: &ColumnView<'_>,
    row: usize,
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
) {
    match cell {
        Cell::Integer { .. } | Cell::Filled { .. } | Cell::Year | Cell::DateTime | Cell::Time => {
            bits(cell, view.bits(row).unwrap_or_default(), out);
        }
        Cell::Float | Cell::Double => double(cell, view.double(row).unwrap_or_default(), out),
        Cell::Text | Cell::Bytes => match view.bytes(row) {
            Some(bytes) => text::string(cell, bytes, transcoder, out),
            None => text::printed(out, |out| view.write_text(row, out)),
        },
        Cell::PrintedText => text::printed_text(transcoder, out, |out| view.write_text(row, out)),
        Cell::Printed => text::printed(out, |out| view.write_text(row, out)),
    }
}

/// Appends a value that is not NULL.
#[inline(always)]
pub(super) fn value(
    cell: Cell,
    ty: &SqlType,
    value: RawValue<'_>,
    transcoder: Option<Transcoder>,
    out: &mut Vec<u8>,
) {
    match (cell, value) {
        (
            Cell::Integer { .. } | Cell::Filled { .. } | Cell::Year | Cell::DateTime | Cell::Time,
            RawValue::Int(v),
        ) => {
            bits(cell, v as u64, out);
        }
        (
            Cell::Integer { .. } | Cell::Filled { .. } | Cell::Year | Cell::DateTime | Cell::Time,
            RawValue::UInt(v),
        ) => bits(cell, v, out),
        (Cell::Float | Cell::Double, RawValue::Double(v)) => double(cell, v, out),
        (_, RawValue::Bytes(bytes)) => text::string(cell, bytes, transcoder, out),
        (Cell::PrintedText, value) => text::printed_text_value(ty, value, transcoder, out),
        (_, value) => text::printed_value(ty, value, out),
    }
}

/// Appends the value that the 64 bits of an integer, a packed point in time or a TIME stand for.
#[inline]
fn bits(cell: Cell, bits: u64, out: &mut Vec<u8>) {
    match cell {
        Cell::Integer { bytes: 1, .. } | Cell::Filled { bytes: 1 } => out.push(bits as u8),
        Cell::Integer { bytes: 2, .. } | Cell::Filled { bytes: 2 } | Cell::Year => out.put_u16(bits as u16),
        Cell::Integer { bytes: 4, .. } | Cell::Filled { bytes: 4 } => out.put_u32(bits as u32),
        Cell::DateTime => datetime(DateTime::unpack(bits), out),
        Cell::Time => time(Time(bits as i64), out),
        _ => out.put_u64(bits),
    }
}

fn double(cell: Cell, value: f64, out: &mut Vec<u8>) {
    if cell == Cell::Float {
        out.put_bytes(&(value as f32).to_le_bytes());
    } else {
        out.put_bytes(&value.to_le_bytes());
    }
}

fn datetime(value: DateTime, out: &mut Vec<u8>) {
    let has_time = value.hour != 0 || value.minute != 0 || value.second != 0;
    let length = match value {
        _ if value.microsecond != 0 => 11,
        _ if has_time => 7,
        _ if value.year != 0 || value.month != 0 || value.day != 0 => 4,
        _ => 0,
    };
    out.push(length);
    if length >= 4 {
        out.put_u16(value.year);
        out.put_bytes(&[value.month, value.day]);
    }
    if length >= 7 {
        out.put_bytes(&[value.hour, value.minute, value.second]);
    }
    if length >= 11 {
        out.put_u32(value.microsecond);
    }
}

fn time(value: Time, out: &mut Vec<u8>) {
    if value.0 == 0 {
        out.push(0);
        return;
    }
    let microseconds = value.microseconds();
    out.push(if microseconds == 0 { 8 } else { 12 });
    out.push(u8::from(value.is_negative()));
    out.put_u32(value.hours() / 24);
    out.put_bytes(&[(value.hours() % 24) as u8, value.minutes(), value.seconds()]);
    if microseconds != 0 {
        out.put_u32(microseconds);
    }
}
