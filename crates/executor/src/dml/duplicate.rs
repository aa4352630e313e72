//! Error 1062 in MySQL's words: the key's values as text, joined by dashes.

use functions::pad_char;
use schema::model::{IndexPart, Table};
use types::{Error, SqlMode, SqlType, TypeKind, Value, errno, shown_bytes};

use super::image::UniqueKey;

/// The largest number of bytes of the key in the message.
const SHOWN_BYTES: usize = 64;

/// "Duplicate entry '1-abc' for key 't.PRIMARY'". `row` holds the values of the existing row.
pub(super) fn error(table: &Table, key: UniqueKey, row: &[Value], mode: &SqlMode) -> Error {
    let (name, parts) = match key {
        UniqueKey::Primary => ("PRIMARY", table.primary_parts()),
        UniqueKey::Index(at) => match table.indexes.get(at) {
            Some(index) => (index.name.as_str(), index.parts.clone()),
            None => ("?", Vec::new()),
        },
    };
    let mut entry = String::new();
    for part in &parts {
        // As in MySQL, no dash after parts that are empty so far.
        if !entry.is_empty() {
            entry.push('-');
        }
        if let (Some(column), Some(value)) = (table.columns.get(part.column), row.get(part.column)) {
            match mode.pad_char_to_full_length {
                true => write_part(
                    *part,
                    &column.ty,
                    &pad_char(value.clone(), &column.ty),
                    &mut entry,
                ),
                false => write_part(*part, &column.ty, value, &mut entry),
            }
        }
    }
    truncate(&mut entry, SHOWN_BYTES);
    Error::new(
        errno::ER_DUP_ENTRY,
        format!("Duplicate entry '{entry}' for key '{}.{name}'", table.name),
    )
}

/// The name of a key.
pub(super) fn name(table: &Table, key: UniqueKey) -> String {
    match key {
        UniqueKey::Primary => "PRIMARY".to_owned(),
        UniqueKey::Index(at) => table.indexes.get(at).map_or_else(String::new, |i| i.name.clone()),
    }
}

fn write_part(part: IndexPart, ty: &SqlType, value: &Value, out: &mut String) {
    let limit = part.prefix.map_or(usize::MAX, |n| n as usize);
    match value {
        Value::Bytes(bytes) => {
            let mut shown = bytes.get(..limit).unwrap_or(bytes);
            if ty.kind == TypeKind::Char {
                // BINARY(n) is padded with zeros, which are left out. Its first byte is always shown.
                let end = shown.iter().rposition(|b| *b != 0).unwrap_or(0) + 1;
                shown = shown.get(..end).unwrap_or(shown);
            }
            out.push_str(&shown_bytes(shown));
        }
        Value::String(text) => out.extend(text.chars().take(limit)),
        Value::UInt(_) if ty.kind == TypeKind::Bit => {
            out.push_str(&shown_bytes(&value.to_text(ty).unwrap_or_default()));
        }
        value => out.push_str(&value.display_text(ty)),
    }
}

fn truncate(text: &mut String, bytes: usize) {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use types::Collation;

    use super::*;

    fn part(ty: SqlType, prefix: Option<u32>, value: Value) -> String {
        let mut out = String::new();
        write_part(
            IndexPart {
                column: 0,
                prefix,
                descending: false,
                stored_descending: false,
            },
            &ty,
            &value,
            &mut out,
        );
        out
    }

    #[test]
    fn binary_data_is_escaped_as_mysql_does_it() {
        let varbinary = SqlType::varchar(10, Collation::Binary);
        let binary = SqlType {
            kind: TypeKind::Char,
            ..varbinary
        };
        let bytes = |b: &[u8]| Value::Bytes(b.to_vec());
        assert_eq!(part(varbinary, None, bytes(b"\x01\xffA")), "\\x01\\xFFA");
        assert_eq!(part(varbinary, Some(1), bytes(b"\x01\x02")), "\\x01");
        assert_eq!(part(binary, None, bytes(b"\x01\x02\0\0\0")), "\\x01\\x02");
        assert_eq!(part(binary, None, bytes(b"\0\0")), "\\x00");
    }

    #[test]
    fn text_and_numbers_are_as_selected() {
        let text = SqlType::varchar(10, Collation::DEFAULT);
        assert_eq!(part(text, Some(3), Value::from("HÉLzz")), "HÉL");
        assert_eq!(part(text, None, Value::Null), "NULL");
        let decimal = Value::Decimal(types::Decimal::from_i128(1500, 3));
        assert_eq!(part(SqlType::decimal(10, 3), None, decimal), "1.500");
        let date = types::temporal::DateTime {
            year: 2024,
            month: 1,
            day: 2,
            ..Default::default()
        };
        assert_eq!(part(SqlType::DATE, None, Value::UInt(date.pack())), "2024-01-02");
    }

    #[test]
    fn long_keys_are_cut_at_64_bytes() {
        let mut text = "é".repeat(300);
        truncate(&mut text, SHOWN_BYTES);
        assert_eq!(text, "é".repeat(32));
        let mut text = format!("x{}", "é".repeat(300));
        truncate(&mut text, SHOWN_BYTES);
        assert_eq!(text.len(), 63);
    }
}
