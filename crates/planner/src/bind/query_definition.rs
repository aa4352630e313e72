//! The columns of a query as definitions: those of a view, and of CREATE TABLE ... SELECT.
//!
//! Source: MySQL 8.0.33's answers; manual 13.1.20.4, "CREATE TABLE ... SELECT Statement".

use functions::Expr;
use schema::default_value::implicit;
use schema::limits;
use schema::model::{Column, Default};
use syntax::ast::{self, Query, QueryBody, SelectItem};
use types::{Collation, SqlType, TypeKind, Value};

use super::Binder;
use super::bound_query::QueryColumn;
use super::parameter;

/// Longer texts are of a TEXT type.
const VARCHAR_CHARS_MAX: u64 = 512;
/// Integers of fewer digits are INT.
const INT_DIGITS: u32 = 10;
/// In a table, integers of a function are INT up to so many characters, the sign included.
const INT_CHARS_OF_FUNCTION: u32 = 11;

/// What a column is computed by, as far as MySQL makes its type of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A function or an operator.
    Function,
    /// COALESCE, IF, CASE and others that return one of their arguments.
    Choice,
    IfNull,
    /// An aggregate of something that is no column.
    Aggregate,
    GroupConcat,
    Subquery,
    /// A window function.
    Window,
    /// An expression that another query computes.
    Reference,
    /// A literal, or a column of a query that is stored.
    Other,
}

/// What the columns of a query become columns of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    View,
    /// `zero_dates`: a date that is never NULL has the default zero, as in a view.
    Table {
        zero_dates: bool,
    },
}

/// The items of a query's select list as written; `None` if they are not one for each of its columns.
pub(super) fn written_items(query: &Query) -> Option<Vec<&ast::Expr>> {
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    let items = select.items.iter().map(|item| match item {
        SelectItem::Expr { expr, .. } => Some(expr),
        SelectItem::All | SelectItem::AllOf(_) => None,
    });
    items.collect()
}

/// The columns of a query, without ids: see [`column_of_query`].
pub(super) fn columns_of_query(
    binder: &Binder<'_>,
    query: &Query,
    columns: &[QueryColumn],
    target: Target,
) -> Vec<Column> {
    let written = written_items(query);
    let written = |at: usize| written.as_ref().and_then(|items| items.get(at).copied());
    let columns = columns.iter().enumerate();
    columns
        .map(|(at, column)| column_of_query(binder, column, written(at), target))
        .collect()
}

/// A column of a query. A column of a table keeps its definition, except AUTO_INCREMENT and AUTO_RANDOM.
fn column_of_query(
    binder: &Binder<'_>,
    column: &QueryColumn,
    written: Option<&ast::Expr>,
    target: Target,
) -> Column {
    let result = &column.result;
    if let Some((stored, of)) = stored_column(binder, column) {
        let is_direct = of == Origin::Table && !result.is_stored;
        return Column {
            default: default_of(&stored, of, column, target),
            on_update_now: stored.on_update_now && is_direct,
            explicit_collation: stored.explicit_collation && of == Origin::Table,
            comment: stored.comment,
            ..Column::plain(&result.name, stored.ty, column.nullable)
        };
    }
    let ty = match column.ty.kind {
        // A set operation has made a column of it already.
        TypeKind::BigInt if result.is_stored => SqlType {
            length: 20,
            ..column.ty
        },
        // A key, or NULL.
        _ if column.is_rolled_key => stored_type(column.ty, Source::Choice, target, || {
            binder.env.group_concat_max_len
        }),
        _ => {
            let (ty, source) = match referenced_type(column, written) {
                Some(ty) => (ty, Source::Reference),
                None => {
                    let ty = match &column.expr {
                        parameter @ Expr::Param { .. } => {
                            parameter::as_stored(binder, parameter.clone()).ty()
                        }
                        _ => column.ty,
                    };
                    (ty, source_of(&column.expr, written))
                }
            };
            stored_type(ty, source, target, || binder.env.group_concat_max_len)
        }
    };
    Column {
        default: match column.nullable || ty.is_blob_or_text() || ty.kind == TypeKind::Json {
            true => Default::None,
            false => implicit_default(&ty, target),
        },
        ..Column::plain(&result.name, ty, column.nullable)
    }
}

/// What a query's column is a column of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Table,
    /// A view or derived table that is merged into the query.
    Merged,
    /// `information_schema`, where most of MySQL's own tables are views.
    System,
}

/// The default of a column of a table or view, in what is defined by a query of it.
fn default_of(stored: &Column, of: Origin, column: &QueryColumn, target: Target) -> Default {
    let loses = match stored.default {
        // A temporary table keeps no default that is computed.
        Default::Now => of != Origin::Table || column.result.is_stored,
        Default::Literal(_) => of == Origin::System || (of == Origin::Merged && target != Target::View),
        _ => stored.makes_ids() && of == Origin::Merged && target != Target::View,
    };
    match &stored.default {
        _ if loses && column.nullable => Default::Null,
        // For the zero that a temporary table has, MySQL fails where it is not allowed.
        Default::Now if loses && of == Origin::Table => Default::Literal(implicit(&stored.ty)),
        _ if loses => implicit_default(&stored.ty, target),
        _ if stored.makes_ids() && stored.nullable => Default::Null,
        _ if stored.makes_ids() => Default::Literal("0".to_owned()),
        // An outer join makes it nullable, and still it has no default.
        Default::None if column.nullable && !stored.nullable => Default::Dropped,
        default => default.clone(),
    }
}

/// The default of a column that is never NULL and has no default of its own.
fn implicit_default(ty: &SqlType, target: Target) -> Default {
    let zero_dates = target != (Target::Table { zero_dates: false });
    match ty.kind {
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp if !zero_dates => Default::None,
        _ => Default::Literal(implicit(ty)),
    }
}

/// Whether a query's column is one of a table or view.
pub(super) fn is_stored(binder: &Binder<'_>, column: &QueryColumn) -> bool {
    stored_column(binder, column).is_some()
}

/// The definition of the column of a table or view that a query's column simply is.
fn stored_column(binder: &Binder<'_>, column: &QueryColumn) -> Option<(Column, Origin)> {
    let result = &column.result;
    if result.original_table.is_empty() || result.database.is_empty() {
        return None;
    }
    let table = binder.env.table(&result.database, &result.original_table)?;
    let stored = &table.columns[table.column_offset(&result.original_name)?];
    // Some columns of system tables are longer than those of a stored table may be.
    let is_too_long = stored.ty.kind == TypeKind::VarChar && stored.ty.max_bytes() > limits::ROW_BYTES_MAX;
    if is_too_long || stored.ty.as_operand() != column.ty.as_operand() {
        return None;
    }
    let of = match table.view {
        _ if table.database == "information_schema" => Origin::System,
        Some(_) => Origin::Merged,
        None if result.is_of_merged => Origin::Merged,
        None => Origin::Table,
    };
    Some((stored.clone(), of))
}

/// The type of an integer that another query computes: the expression's, if the query is merged, or that of the
/// temporary table. `None` for what else a column is.
fn referenced_type(column: &QueryColumn, written: Option<&ast::Expr>) -> Option<SqlType> {
    let result = &column.result;
    let is_reference = matches!(column.expr, Expr::Column { .. })
        && !column.is_aggregate
        && !result.is_stored
        && matches!(written, None | Some(ast::Expr::Column(_)))
        && result.database.is_empty();
    let is_merged = result.table.is_empty() || !result.original_table.is_empty();
    let is_made = result.ty.kind != column.ty.kind;
    match is_reference && column.ty.is_integer() {
        true if is_merged => Some(column.ty),
        true if is_made => Some(result.ty),
        _ => None,
    }
}

fn source_of(expr: &Expr, written: Option<&ast::Expr>) -> Source {
    match written {
        Some(ast::Expr::Subquery(_)) => return Source::Subquery,
        Some(ast::Expr::GroupConcat { .. }) => return Source::GroupConcat,
        Some(ast::Expr::Over { .. }) => return Source::Window,
        Some(ast::Expr::Aggregate { args, .. }) => {
            return match args.as_slice() {
                // It has the type of the column.
                [ast::Expr::Column(_)] => Source::Other,
                _ => Source::Aggregate,
            };
        }
        _ => {}
    }
    match expr {
        Expr::Case { .. } => Source::Choice,
        Expr::Call { function, .. } => match function.name() {
            "ifnull" => Source::IfNull,
            "if" | "coalesce" | "nullif" | "greatest" | "least" | "any_value" => Source::Choice,
            _ => Source::Function,
        },
        Expr::Cast { implicit: false, .. } => Source::Function,
        Expr::Cast { input, .. } => source_of(input, None),
        // A minus before a literal.
        Expr::Literal {
            value: Value::Int(..0),
            ..
        } => Source::Function,
        _ => Source::Other,
    }
}

/// The type of a table's column for values of another type.
fn stored_type(ty: SqlType, source: Source, target: Target, concat_bytes: impl FnOnce() -> u64) -> SqlType {
    match ty.kind {
        TypeKind::Null => SqlType {
            kind: TypeKind::Char,
            ..SqlType::varchar(0, Collation::Binary)
        },
        _ if ty.is_integer() => integer_type(ty, source, target),
        TypeKind::Double if ty.decimals >= SqlType::NOT_FIXED => SqlType {
            unsigned: ty.unsigned,
            ..SqlType::DOUBLE
        },
        TypeKind::Float if ty.decimals >= SqlType::NOT_FIXED => SqlType {
            unsigned: ty.unsigned,
            ..SqlType::FLOAT
        },
        TypeKind::Json => SqlType {
            decimals: 0,
            unsigned: false,
            ..ty
        },
        _ if ty.is_string() => SqlType {
            decimals: 0,
            unsigned: false,
            ..text_type(ty, source, concat_bytes)
        },
        _ => ty,
    }
}

fn integer_type(ty: SqlType, source: Source, target: Target) -> SqlType {
    let is_small = ty.kind != TypeKind::BigInt;
    let fits = match source {
        Source::IfNull | Source::Aggregate => false,
        Source::Function | Source::Choice if target != Target::View => ty.length <= INT_CHARS_OF_FUNCTION,
        _ => ty.length < INT_DIGITS,
    };
    let keeps = match (ty.kind, source) {
        (TypeKind::Year, Source::Function | Source::Choice) => true,
        (_, Source::Function | Source::Choice | Source::Subquery | Source::Reference) => false,
        _ => is_small,
    };
    match (keeps, fits) {
        (true, _) => ty,
        (false, true) => SqlType {
            length: if ty.unsigned { 10 } else { 11 },
            ..integer(TypeKind::Int, ty)
        },
        (false, false) => SqlType {
            length: 20,
            ..integer(TypeKind::BigInt, ty)
        },
    }
}

fn integer(kind: TypeKind, ty: SqlType) -> SqlType {
    SqlType {
        kind,
        unsigned: ty.unsigned || matches!(ty.kind, TypeKind::Year | TypeKind::Bit),
        ..SqlType::BIGINT
    }
}

fn text_type(ty: SqlType, source: Source, concat_bytes: impl FnOnce() -> u64) -> SqlType {
    let is_long = ty.is_blob_or_text();
    match source {
        Source::GroupConcat => match concat_bytes() / ty.collation.charset().min_bytes_per_char() as u64 {
            chars @ 0..=VARCHAR_CHARS_MAX => SqlType {
                length: u32::try_from(chars).unwrap_or(u32::MAX),
                kind: TypeKind::VarChar,
                ..ty
            },
            chars => exact_text(ty, chars.saturating_mul(per_char(ty))),
        },
        Source::Choice | Source::IfNull if is_long => text_of(ty, u64::MAX),
        Source::Subquery | Source::Window if is_long => {
            exact_text(ty, u64::from(ty.length).saturating_mul(per_char(ty)))
        }
        Source::Function if is_long => text_of(ty, ty.max_bytes()),
        _ if is_long => ty,
        _ if ty.length == 0 => SqlType {
            kind: TypeKind::Char,
            ..ty
        },
        _ if u64::from(ty.length) > VARCHAR_CHARS_MAX => text_of(ty, ty.max_bytes()),
        Source::Other | Source::Window => ty,
        _ => SqlType {
            kind: TypeKind::VarChar,
            ..ty
        },
    }
}

fn per_char(ty: SqlType) -> u64 {
    u64::from(ty.collation.charset().max_bytes_per_char())
}

/// The shortest of the TEXT or BLOB types that holds so many bytes.
fn exact_text(ty: SqlType, bytes: u64) -> SqlType {
    let (kind, length) = match bytes {
        0..=255 => (TypeKind::TinyText, 255),
        256..=65_535 => (TypeKind::Text, 65_535),
        65_536..=16_777_215 => (TypeKind::MediumText, 16_777_215),
        _ => (TypeKind::LongText, u32::MAX),
    };
    SqlType { kind, length, ..ty }
}

/// TEXT or BLOB if it holds so many bytes, otherwise the longest: MySQL makes no MEDIUMTEXT of a function.
fn text_of(ty: SqlType, bytes: u64) -> SqlType {
    let (kind, length) = match bytes {
        0..=65_535 => (TypeKind::Text, 65_535),
        _ => (TypeKind::LongText, u32::MAX),
    };
    SqlType { kind, length, ..ty }
}
