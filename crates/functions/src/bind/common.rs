//! The common type of several values: in CASE, IF, COALESCE, the columns of UNION.
//!
//! Source: the behaviour of MySQL 8.0.33 (manual 12.5 "Flow Control Functions").

use types::{Collation, Result, SqlType, TypeKind};

use super::arguments::{implicit_cast, integer_digits, read_members, text_length, text_type};
use super::collation;
use super::env::TypeEnv;
use crate::Expr;

/// The type of a result that may have any of `types`. Strings take the collation of the first string, or
/// `binary` if any is binary.
pub fn common_type(types: &[SqlType]) -> SqlType {
    let types: Vec<SqlType> = types.iter().map(as_result).collect();
    let types = types.as_slice();
    let connection = types
        .iter()
        .find(|t| t.is_string() && !t.is_binary())
        .map_or(Collation::DEFAULT, |t| t.collation);
    let binary = types.iter().any(SqlType::is_binary);
    let collation = if binary { Collation::Binary } else { connection };
    let mut present = types.iter().filter(|t| t.kind != TypeKind::Null);
    let Some(first) = present.next() else {
        return SqlType::NULL;
    };
    let merged = present.fold(*first, |a, b| merge(&a, b, collation));
    let merged = widen_for_signs(merged, types);
    if merged.is_string() {
        SqlType { collation, ..merged }
    } else {
        merged
    }
}

/// Replaces ENUM and SET by the type of their text.
fn as_result(ty: &SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Enum(_) | TypeKind::Set(_) => text_type(ty, ty.collation),
        _ if ty.zerofill => ty.computed().as_operand(),
        _ => *ty,
    }
}

/// Converts all `values` to their common type and returns it. `operation` names the call in error 1267.
pub(crate) fn unify(values: &mut [Expr], operation: &str, env: &TypeEnv) -> Result<SqlType> {
    for value in values.iter_mut() {
        let expr = std::mem::replace(value, Expr::null());
        *value = read_members(expr);
    }
    let types: Vec<SqlType> = values.iter().map(Expr::ty).collect();
    let mut ty = common_type(&types);
    if ty.is_string() {
        let strings: Vec<&Expr> = values.iter().collect();
        ty.collation = collation::of_result(&strings, env.collation, operation)?;
    }
    for value in values {
        let expr = std::mem::replace(value, Expr::null());
        *value = implicit_cast(expr, ty);
    }
    Ok(ty)
}

/// The common type of two types, neither of which is NULL's.
fn merge(a: &SqlType, b: &SqlType, collation: Collation) -> SqlType {
    use TypeKind::*;
    if a.is_integer() && b.is_integer() {
        return merge_integers(a, b);
    }
    if a.is_numeric() && b.is_numeric() {
        return merge_numbers(a, b);
    }
    if a.is_temporal() && b.is_temporal() {
        let decimals = a.decimals.max(b.decimals);
        return match (a.kind, b.kind) {
            (x, y) if x == y => SqlType { decimals, ..*a },
            _ => SqlType::datetime(decimals),
        };
    }
    if a.kind == Json && b.kind == Json {
        return SqlType::JSON;
    }
    if a.kind == Json || b.kind == Json {
        return SqlType {
            kind: LongText,
            length: u32::MAX,
            ..SqlType::varchar(0, Collation::Utf8mb4Bin)
        };
    }
    merge_texts(a, b, collation)
}

fn integer_rank(kind: TypeKind) -> u8 {
    use TypeKind::*;
    match kind {
        Year => 0,
        TinyInt => 1,
        SmallInt => 2,
        MediumInt => 3,
        Int => 4,
        _ => 5,
    }
}

fn merge_integers(a: &SqlType, b: &SqlType) -> SqlType {
    if a.kind == TypeKind::Year && b.kind == TypeKind::Year {
        return *a;
    }
    if a.kind == TypeKind::Bit && b.kind == TypeKind::Bit {
        return SqlType::bit(a.length.max(b.length));
    }
    let larger = if integer_rank(a.kind) >= integer_rank(b.kind) {
        a
    } else {
        b
    };
    let kind = if larger.kind == TypeKind::Bit {
        TypeKind::BigInt
    } else {
        larger.kind
    };
    SqlType {
        kind,
        unsigned: a.unsigned && b.unsigned,
        length: a.length.max(b.length),
        ..*larger
    }
}

/// The digits of an unsigned BIGINT.
const BIGINT_DIGITS: u32 = 20;

/// If signed and unsigned integers are mixed and the unsigned type is the largest, the result needs the next
/// larger type. A YEAR fits the signed type.
fn widen_for_signs(merged: SqlType, types: &[SqlType]) -> SqlType {
    use TypeKind::*;
    let integers = || types.iter().filter(|t| !matches!(t.kind, Null | Year));
    let mixed = merged.is_integer() && !merged.unsigned && integers().any(|t| t.unsigned);
    if !mixed || !integers().any(|t| t.unsigned && integer_rank(t.kind) == integer_rank(merged.kind)) {
        return merged;
    }
    let kind = match merged.kind {
        TinyInt => SmallInt,
        SmallInt => MediumInt,
        MediumInt => Int,
        Int => BigInt,
        _ => {
            // As many digits as a BIT has bits.
            let digits = |t: &SqlType| match t.kind {
                Bit => t.length,
                _ => integer_digits(t),
            };
            let has_bits = integers().any(|t| t.kind == Bit);
            let least = if has_bits { 1 } else { BIGINT_DIGITS };
            let widest = integers().map(digits).max().unwrap_or_default();
            return SqlType::decimal(widest.max(least), 0);
        }
    };
    SqlType { kind, ..merged }
}

fn merge_numbers(a: &SqlType, b: &SqlType) -> SqlType {
    let unsigned = a.unsigned && b.unsigned;
    if a.is_float() || b.is_float() {
        // In MySQL their order matters: IF(c, float, 0) is a FLOAT, IF(c, 0, float) is not.
        let decimals = a.decimals.max(b.decimals);
        let widest = match decimals < SqlType::NOT_FIXED {
            true => SqlType::DOUBLE.length,
            false => double_width(a).max(double_width(b)),
        };
        if a.kind == TypeKind::BigInt {
            return SqlType {
                decimals,
                length: widest,
                unsigned,
                ..SqlType::DOUBLE
            };
        }
        let small = |t: &SqlType| {
            t.kind == TypeKind::Float
                || matches!(
                    t.kind,
                    TypeKind::TinyInt
                        | TypeKind::SmallInt
                        | TypeKind::MediumInt
                        | TypeKind::BigInt
                        | TypeKind::Year
                )
        };
        let ty = if small(a) && small(b) {
            SqlType::FLOAT
        } else {
            SqlType::DOUBLE
        };
        let is_fixed = |t: &SqlType| t.is_float() && t.decimals < SqlType::NOT_FIXED;
        let length = match is_fixed(a) && is_fixed(b) {
            true => {
                let whole = |t: &SqlType| t.length.saturating_sub(u32::from(t.decimals));
                whole(a).max(whole(b)) + u32::from(decimals)
            }
            false if decimals < SqlType::NOT_FIXED => ty.length,
            false => widest,
        };
        return SqlType {
            decimals,
            length,
            unsigned,
            ..ty
        };
    }
    let scale = a.decimals.max(b.decimals);
    let whole = integer_digits(a).max(integer_digits(b));
    SqlType {
        unsigned,
        ..SqlType::decimal((whole + u32::from(scale)).clamp(1, 65), scale)
    }
}

/// The width of a number among doubles.
fn double_width(ty: &SqlType) -> u32 {
    match ty.is_float() {
        true => ty.length,
        false => text_length(ty),
    }
}

/// The length of a value as text. Among binary strings, characters are counted in bytes.
fn length_in(ty: &SqlType, collation: Collation) -> u32 {
    let in_bytes = collation == Collation::Binary && ty.is_string() && !ty.is_binary();
    text_length(ty).saturating_mul(match in_bytes {
        true => ty.collation.charset().max_bytes_per_char(),
        false => 1,
    })
}

fn merge_texts(a: &SqlType, b: &SqlType, collation: Collation) -> SqlType {
    use TypeKind::*;
    let length = length_in(a, collation).max(length_in(b, collation));
    let rank = |t: &SqlType| match t.kind {
        Char => 1,
        TinyText => 3,
        Text => 4,
        MediumText => 5,
        LongText => 6,
        _ => 2,
    };
    let larger = if rank(a) >= rank(b) { a } else { b };
    let kind = if larger.is_string() { larger.kind } else { VarChar };
    SqlType {
        kind,
        ..SqlType::varchar(length, collation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(kind: TypeKind, unsigned: bool) -> SqlType {
        SqlType {
            kind,
            unsigned,
            ..SqlType::BIGINT
        }
    }

    #[test]
    fn integers_widen_for_signs() {
        use TypeKind::*;
        let common = |a, b| common_type(&[a, b]);
        assert_eq!(common(int(TinyInt, false), int(Int, false)).kind, Int);
        assert_eq!(common(int(Int, false), int(Int, true)).kind, BigInt);
        assert_eq!(common(int(TinyInt, false), int(Int, true)).kind, BigInt);
        assert_eq!(common(int(BigInt, false), int(Int, true)).kind, BigInt);
        assert_eq!(
            common(SqlType::BIGINT, SqlType::BIGINT_UNSIGNED),
            SqlType::decimal(20, 0)
        );
        assert!(common(int(Int, true), int(TinyInt, true)).unsigned);
    }

    #[test]
    fn mixtures() {
        let text = SqlType::varchar(10, Collation::Utf8mb4Bin);
        assert_eq!(common_type(&[SqlType::NULL, SqlType::NULL]), SqlType::NULL);
        assert_eq!(common_type(&[SqlType::NULL, SqlType::DATE]), SqlType::DATE);
        assert_eq!(
            common_type(&[SqlType::DATE, SqlType::datetime(3)]),
            SqlType::datetime(3)
        );
        assert_eq!(
            common_type(&[SqlType::time(2), SqlType::DATE]),
            SqlType::datetime(2)
        );
        assert_eq!(
            common_type(&[SqlType::decimal(10, 2), SqlType::decimal(5, 4)]),
            SqlType::decimal(12, 4)
        );
        assert_eq!(
            common_type(&[SqlType::decimal(10, 2), SqlType::DOUBLE]),
            SqlType::DOUBLE
        );
        assert_eq!(
            common_type(&[text, SqlType::BIGINT]),
            SqlType::varchar(20, Collation::Utf8mb4Bin)
        );
        assert_eq!(
            common_type(&[SqlType::DATE, SqlType::BIGINT]).kind,
            TypeKind::VarChar
        );
    }
}
