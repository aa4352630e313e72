//! `key_len`: how many bytes of an index's key an access path uses, counted as MySQL counts its own keys.

use schema::model::{IndexPart, Table};
use types::TypeKind;

/// Bytes of these key parts.
pub fn of(parts: &[IndexPart], table: &Table) -> u64 {
    parts.iter().map(|part| part_bytes(part, table)).sum()
}

fn part_bytes(part: &IndexPart, table: &Table) -> u64 {
    let column = &table.columns[part.column];
    let ty = &column.key_type();
    let bytes = if ty.is_string() {
        let chars = u64::from(part.prefix.unwrap_or(ty.length));
        let length = if ty.kind == TypeKind::Char { 0 } else { 2 };
        chars * u64::from(ty.collation.charset().max_bytes_per_char()) + length
    } else {
        ty.fixed_bytes()
    };
    bytes + u64::from(column.nullable)
}
