//! Writes rows as lines of fields that LOAD DATA with the same clauses can read.
//!
//! Source: manual 13.2.13.1, "SELECT ... INTO Statement"; 13.2.9, "Field and Line Handling".

use planner::plan::{FileFormat, ResultColumn};
use types::array::ColumnView;
use types::{Charset, TypeKind, Warning};
use wire::charset::Transcoder;
use wire::column_type::announced_length;

const ER_AMBIGUOUS_FIELD_TERM: u16 = 1475;
/// The characters with a special meaning after an escape character.
const ESCAPE_LETTERS: &[u8] = b"ntrb0ZN";
/// The characters of numbers.
const NUMBER_CHARACTERS: &[u8] = b".0123456789e+-";

pub struct FieldWriter {
    format: FileFormat,
    columns: Vec<FieldColumn>,
    /// The enclosing character, or else the first one of the field terminator.
    separator: Option<u8>,
    has_fixed_rows: bool,
    value: Vec<u8>,
}

struct FieldColumn {
    is_text: bool,
    /// Converts to the character set of the file.
    transcoder: Option<Transcoder>,
    /// The width in a row of fixed length.
    width: usize,
}

impl FieldWriter {
    /// `charset`: that of the file. `None`: each column keeps its own.
    pub fn new(format: &FileFormat, charset: Option<Charset>, columns: &[ResultColumn]) -> Self {
        let is_blob = |column: &ResultColumn| {
            matches!(
                column.ty.kind,
                TypeKind::TinyText
                    | TypeKind::Text
                    | TypeKind::MediumText
                    | TypeKind::LongText
                    | TypeKind::Json
            )
        };
        let field = |column: &ResultColumn| FieldColumn {
            is_text: !column.ty.is_numeric() && column.ty.kind != TypeKind::Bit,
            transcoder: match column.ty.is_text() {
                true => Transcoder::to(charset.unwrap_or(column.ty.collation.charset())),
                false => None,
            },
            width: announced_length(&column.ty, None) as usize,
        };
        Self {
            separator: format.enclosed.or(format.fields_terminated.first().copied()),
            has_fixed_rows: format.has_fixed_rows() && !columns.iter().any(is_blob),
            columns: columns.iter().map(field).collect(),
            format: format.clone(),
            value: Vec::new(),
        }
    }

    /// Whether a reader may mistake an escaped character of a field for another one.
    pub fn is_ambiguous(&self) -> bool {
        let is_letter = |byte: &u8| ESCAPE_LETTERS.contains(byte);
        let encloses_all = self.format.enclosed.is_some() && !self.format.optionally_enclosed;
        self.format.escaped.is_some()
            && !encloses_all
            && self.format.fields_terminated.first().is_some_and(is_letter)
            && self.columns.iter().any(|column| column.is_text)
    }

    /// Appends a row.
    pub fn line(&mut self, views: &[ColumnView<'_>], row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.format.lines_starting);
        for (position, view) in views.iter().enumerate() {
            if position > 0 {
                out.extend_from_slice(&self.format.fields_terminated);
            }
            self.field(position, view, row, out);
        }
        out.extend_from_slice(&self.format.lines_terminated);
    }

    fn field(&mut self, position: usize, view: &ColumnView<'_>, row: usize, out: &mut Vec<u8>) {
        let Some(column) = self.columns.get(position) else {
            return;
        };
        if view.is_null(row) {
            match self.format.escaped {
                _ if self.has_fixed_rows => out.resize(out.len() + column.width, b' '),
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        }
        self.value.clear();
        view.write_text(row, &mut self.value);
        let encoded;
        let value = match column.transcoder {
            Some(transcoder) => {
                encoded = transcoder.encode(&self.value);
                &*encoded
            }
            None => self.value.as_slice(),
        };
        if self.has_fixed_rows {
            let used = value.len().min(column.width);
            self.escaped(column, &value[..used], false, out);
            out.resize(out.len() + column.width - used, b' ');
            return;
        }
        let enclosed = self
            .format
            .enclosed
            .filter(|_| column.is_text || !self.format.optionally_enclosed);
        out.extend(enclosed);
        self.escaped(column, value, enclosed.is_some(), out);
        out.extend(enclosed);
    }

    /// Appends a value with its special characters escaped. Numbers have none, unless a separator contains
    /// characters of numbers.
    fn escaped(&self, column: &FieldColumn, value: &[u8], is_enclosed: bool, out: &mut Vec<u8>) {
        let is_in = |list: &[u8], byte: Option<u8>| byte.is_some_and(|byte| list.contains(&byte));
        let Some(escape) = self.format.escaped else {
            return out.extend_from_slice(value);
        };
        if !column.is_text && !is_in(NUMBER_CHARACTERS, self.separator) {
            return out.extend_from_slice(value);
        }
        let field_end = self.format.fields_terminated.first().copied();
        let line_end = self.format.lines_terminated.first().copied();
        let doubles = is_in(ESCAPE_LETTERS, self.separator);
        let is_wide = column
            .transcoder
            .is_some_and(|transcoder| transcoder.has_trailing_ascii());
        let mut is_second = false;
        for &byte in value {
            let own_end = match is_enclosed {
                true => self.separator,
                false => field_end,
            };
            let is_special = byte == escape || byte == 0 || Some(byte) == own_end || Some(byte) == line_end;
            // A terminator that would get a special meaning cannot be escaped. An enclosing character can be
            // doubled instead.
            let cannot = !is_enclosed && Some(byte) == field_end && is_in(ESCAPE_LETTERS, field_end);
            // MySQL escapes both bytes of a character whose second byte is special.
            if is_special && !cannot {
                if is_wide && is_second {
                    let head = out.pop();
                    out.push(escape);
                    out.extend(head);
                }
                let doubled = doubles && Some(byte) == self.separator;
                out.push(if doubled { byte } else { escape });
                out.push(if byte == 0 { b'0' } else { byte });
            } else {
                out.push(byte);
            }
            is_second = !is_second && !byte.is_ascii();
        }
    }
}

/// Warning 1475.
pub fn ambiguous_terminator() -> Warning {
    Warning::warning(
        ER_AMBIGUOUS_FIELD_TERM,
        "First character of the FIELDS TERMINATED string is ambiguous; please use non-optional and non-empty FIELDS \
         ENCLOSED BY",
    )
}
