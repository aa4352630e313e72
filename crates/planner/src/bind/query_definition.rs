//! The columns of a query as definitions: those of a view, and of CREATE TABLE ... SELECT.
//!
//! Source: MySQL 8.0.33's answers; manual 13.1.20.4, "CREATE TABLE ... SELECT Statement".

use schema::default_value::implicit;
use schema::model::{Column, Default};
use types::{Collation, SqlType, TypeKind};

use super::Binder;
use super::bound_query::QueryColumn;

/// Longer texts are of a TEXT type.
const VARCHAR_CHARS_MAX: u64 = 512;
/// Integers of fewer digits are INT.
const INT_DIGITS: u32 = 10;

/// A column of a query, without an id. A column of a table keeps its definition, except AUTO_INCREMENT and
/// AUTO_RANDOM. `zero_dates`: a date that is never NULL has the default zero.
pub(super) fn column_of_query(binder: &Binder<'_>, column: &QueryColumn, zero_dates: bool) -> Column {
    let result = &column.result;
    if let Some(stored) = stored_column(binder, column) {
        let default = match stored.default {
            _ if stored.makes_ids() => Default::Literal("0".to_owned()),
            // An outer join makes it nullable, and still it has no default.
            Default::None if column.nullable && !stored.nullable => Default::Dropped,
            default => default,
        };
        return Column {
            default,
            on_update_now: stored.on_update_now,
            explicit_collation: stored.explicit_collation,
            comment: stored.comment,
            ..Column::plain(&result.name, column.ty, column.nullable)
        };
    }
    let ty = match column.ty.kind {
        // A set operation has made a column of it already.
        TypeKind::BigInt if result.is_stored => SqlType {
            length: 20,
            ..column.ty
        },
        _ => stored_type(column.ty),
    };
    let is_date = matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp);
    let has_default =
        !column.nullable && !ty.is_blob_or_text() && ty.kind != TypeKind::Json && (zero_dates || !is_date);
    Column {
        default: match has_default {
            true => Default::Literal(implicit(&ty)),
            false => Default::None,
        },
        ..Column::plain(&result.name, ty, column.nullable)
    }
}

/// Whether a query's column is one of a table or view.
pub(super) fn is_stored(binder: &Binder<'_>, column: &QueryColumn) -> bool {
    stored_column(binder, column).is_some()
}

/// The definition of the column of a table or view that a query's column simply is.
fn stored_column(binder: &Binder<'_>, column: &QueryColumn) -> Option<Column> {
    let result = &column.result;
    if result.original_table.is_empty() || result.database.is_empty() {
        return None;
    }
    let table = binder.env.table(&result.database, &result.original_table)?;
    let stored = &table.columns[table.column_offset(&result.original_name)?];
    (stored.ty == column.ty).then(|| stored.clone())
}

/// The type of a table's column for the values of an expression.
fn stored_type(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Null => SqlType {
            kind: TypeKind::Char,
            ..SqlType::varchar(0, Collation::Binary)
        },
        TypeKind::BigInt if ty.length < INT_DIGITS => SqlType {
            kind: TypeKind::Int,
            length: if ty.unsigned { 10 } else { 11 },
            ..ty
        },
        TypeKind::BigInt => SqlType { length: 20, ..ty },
        TypeKind::Double if ty.decimals >= SqlType::NOT_FIXED => SqlType::DOUBLE,
        TypeKind::Float if ty.decimals >= SqlType::NOT_FIXED => SqlType::FLOAT,
        TypeKind::VarChar if ty.length == 0 => SqlType {
            kind: TypeKind::Char,
            decimals: 0,
            ..ty
        },
        TypeKind::VarChar if u64::from(ty.length) > VARCHAR_CHARS_MAX => text_of(ty),
        _ if ty.is_string() || ty.kind == TypeKind::Json => SqlType {
            decimals: 0,
            unsigned: false,
            ..ty
        },
        _ => ty,
    }
}

/// TEXT or BLOB if it holds the texts of a type, otherwise the longest: MySQL makes no MEDIUMTEXT.
fn text_of(ty: SqlType) -> SqlType {
    let (kind, length) = match ty.max_bytes() {
        ..=65_535 => (TypeKind::Text, 65_535),
        _ => (TypeKind::LongText, u32::MAX),
    };
    SqlType {
        kind,
        length,
        decimals: 0,
        ..ty
    }
}
