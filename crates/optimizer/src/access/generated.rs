//! Expressions that are generated columns: a condition on the expression of an indexed column is one on the
//! column, so that the index can serve it. Manual 8.3.11 "Optimizer Use of Generated Column Indexes".
//!
//! ```text
//! KEY (v), v INT AS (a + 1):   a + 1 = 5   ->   v = 5
//! ```

use functions::Expr;
use functions::expr::Label;
use schema::bound::ColumnExpression;
use schema::model::{Column, Table};
use types::{Result, SqlType, TypeKind, Value};

/// Replaces expressions of indexed generated columns by these columns. Columns are offsets in the table.
pub fn with_generated_columns(conditions: Vec<Expr>, table: &Table) -> Vec<Expr> {
    let Ok(Some(expressions)) = table.expressions() else {
        return conditions;
    };
    let indexed: Vec<(&ColumnExpression, &Column)> = expressions
        .generated
        .iter()
        .filter(|generated| leads_index(table, generated.column))
        .filter_map(|generated| Some((generated, table.columns.get(generated.column)?)))
        .filter(|(generated, column)| holds_all_values(&generated.value.ty(), &column.ty))
        .collect();
    if indexed.is_empty() {
        return conditions;
    }
    let replaced = |condition: Expr| replace(&condition, &indexed).unwrap_or(condition);
    conditions.into_iter().map(replaced).collect()
}

fn leads_index(table: &Table, column: usize) -> bool {
    let mut indexes = table.indexes.iter().filter(|index| index.is_readable());
    indexes.any(|index| index.parts.iter().any(|part| part.column == column))
}

/// Whether the column's value is the expression's own, and compared in the same way.
fn holds_all_values(expr: &SqlType, column: &SqlType) -> bool {
    match column.kind {
        TypeKind::Char | TypeKind::VarChar => {
            expr.is_string() && expr.collation == column.collation && expr.length <= column.length
        }
        // As in MySQL, a value that was cut to the column's type, which is an error in strict mode, is not looked for.
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            expr.is_integer() && expr.unsigned == column.unsigned
        }
        TypeKind::Date | TypeKind::DateTime | TypeKind::Time => {
            expr.kind == column.kind && expr.decimals == column.decimals
        }
        TypeKind::Double => expr.kind == TypeKind::Double && !column.unsigned,
        _ => expr.is_integer() && expr.kind == column.kind && expr.unsigned == column.unsigned,
    }
}

fn replace(expr: &Expr, indexed: &[(&ColumnExpression, &Column)]) -> Result<Expr> {
    if matches!(expr, Expr::Column { .. }) {
        return Ok(expr.clone());
    }
    let found = indexed
        .iter()
        .find(|(generated, _)| is_same(expr, &generated.value));
    match found {
        Some((generated, column)) => Ok(Expr::Column {
            index: generated.column,
            ty: column.ty,
            nullable: true,
            label: Label::name_only(&column.name),
        }),
        None => expr.of_parts(&mut |part| replace(part, indexed)),
    }
}

/// Whether two expressions are the same. A column is as nullable as the query makes it.
pub(super) fn is_same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Column { index: a, .. }, Expr::Column { index: b, .. }) => a == b,
        (
            Expr::Call { function, args, ty },
            Expr::Call {
                function: other,
                args: others,
                ty: other_ty,
            },
        ) => {
            // `->` is stored as the function that it is.
            let name = |name| match name {
                "->" => "json_extract",
                name => name,
            };
            name(function.name()) == name(other.name())
                && ty == other_ty
                && args.len() == others.len()
                && args.iter().zip(others).all(|(a, b)| is_same(a, b))
        }
        (
            Expr::Cast { input, ty, implicit },
            Expr::Cast {
                input: other,
                ty: other_ty,
                implicit: other_implicit,
            },
        ) => ty == other_ty && implicit == other_implicit && is_same(input, other),
        // A constant text has the character set of the statement.
        (
            Expr::Literal {
                value: Value::String(a),
                ..
            },
            Expr::Literal {
                value: Value::String(b),
                ..
            },
        ) => a == b,
        (a, b) => a == b,
    }
}
