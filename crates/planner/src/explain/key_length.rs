//! `key_len`: how many bytes of an index's key a way to read uses, by MySQL's count of its own keys.

use catalog::model::{IndexPart, Table};
use types::TypeKind;

/// Bytes of these key parts.
pub fn of(parts: &[IndexPart], table: &Table) -> u32 {
    parts.iter().map(|part| part_bytes(part, table)).sum()
}

fn part_bytes(part: &IndexPart, table: &Table) -> u32 {
    let column = &table.columns[part.column];
    let ty = &column.ty;
    let fraction = u32::from(ty.decimals.div_ceil(2));
    let bytes = match ty.kind {
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Time => 3 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Decimal => {
            let scale = u32::from(ty.decimals);
            decimal_bytes(ty.length.saturating_sub(scale)) + decimal_bytes(scale)
        }
        TypeKind::Null => 0,
        _ => {
            let chars = part.prefix.unwrap_or(ty.length);
            let length = if ty.kind == TypeKind::Char { 0 } else { 2 };
            chars
                .saturating_mul(ty.collation.charset().max_bytes_per_char())
                .saturating_add(length)
        }
    };
    bytes.saturating_add(u32::from(column.nullable))
}

/// Nine digits take four bytes, what is left as many as it needs.
fn decimal_bytes(digits: u32) -> u32 {
    const LEFT: [u32; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    digits / 9 * 4 + LEFT[(digits % 9) as usize]
}
