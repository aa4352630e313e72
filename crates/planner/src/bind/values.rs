//! VALUES: rows written out, as a query.

use std::cell::RefCell;

use functions::Expr;
use types::{Error, Result, SqlType, errno};

use super::block::Block;
use super::bound_query::{BoundQuery, QueryColumn, QueryPlace, limited};
use super::context::{Context, invalid_group_function};
use super::name_lookup::ColumnsThenItems;
use super::names::ORDER_CLAUSE;
use super::output::Item;
use super::scope::{NoNames, Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::{Binder, block_keys, limit};
use crate::errno::{ER_VALUES_CANNOT_HAVE_DEFAULT, ER_VALUES_MUST_HAVE_COLUMNS};
use crate::logical::{Apply, ApplyKind, Column, ColumnId, Logical};
use crate::plan::ResultColumn;
use syntax::ast;

/// The columns are called `column_0` and so on.
///
/// # Errors
/// 1136 for rows of different lengths, 3942 for empty ones, 3943 for DEFAULT.
pub(super) fn bind_values(
    binder: &Binder<'_>,
    rows: &[Vec<Option<ast::Expr>>],
    block: &Block<'_>,
    place: QueryPlace<'_>,
) -> Result<BoundQuery> {
    let width = rows.first().map_or(0, Vec::len);
    let subqueries = Subqueries::default();
    let names = NoNames { outer: place.outer };
    let context = Context {
        subqueries: Some(&subqueries),
        outer: place.outer,
        ..Context::of(&names)
    };
    let mut columns: Vec<Vec<Expr>> = vec![Vec::with_capacity(rows.len()); width];
    for (position, row) in rows.iter().enumerate() {
        if row.len() != width {
            return Err(wrong_count(position + 1));
        }
        if width == 0 {
            return Err(no_columns());
        }
        for (value, column) in row.iter().zip(&mut columns) {
            let value = value.as_ref().ok_or_else(default_value)?;
            column.push(binder.scalar(value, &context)?);
        }
    }
    let mut made = Vec::with_capacity(width);
    let mut texts: Vec<Vec<Expr>> = Vec::new();
    let mut shown = Vec::with_capacity(width);
    let mut strengths = Vec::with_capacity(width);
    for values in &mut columns {
        let nullable = values.iter().any(Expr::nullable);
        let as_written: Vec<Expr> = values.iter().map(as_text).collect();
        strengths.push(functions::bind::strength_of(values));
        let ty = functions::bind::union_type(values, &binder.types)?;
        let column = Column {
            id: binder.new_column(),
            ty,
            nullable,
        };
        // A DECIMAL is sent with the digits that it was written with.
        let is_text = place.is_statement && ty.is_decimal();
        shown.push(is_text.then(|| {
            texts.push(as_written);
            texts.len() - 1
        }));
        made.push(column);
    }
    let mut all = made.clone();
    let text_ids: Vec<ColumnId> = texts.iter().map(|_| binder.new_column()).collect();
    all.extend(text_ids.iter().map(|id| Column {
        id: *id,
        ty: SqlType::varchar(TEXT_CHARS, binder.types.collation),
        nullable: true,
    }));
    columns.extend(texts);
    let mut root = Logical::Values {
        rows: transposed(columns, rows.len()),
        columns: all,
    };
    if !subqueries.is_empty() {
        root = Logical::Apply(Apply {
            kind: ApplyKind::Lateral {
                left: false,
                condition: None,
            },
            input: Box::new(subqueries.applied_to(Logical::OneRow)),
            subquery: Box::new(root),
        });
    }
    let items: Vec<Item> = made
        .iter()
        .enumerate()
        .map(|(position, column)| Item {
            expr: column.expr(),
            name: format!("column_{position}"),
            column: None,
        })
        .collect();
    root = ordered_values(binder, root, &items, block, place)?;
    let columns =
        made.iter()
            .zip(&items)
            .zip(shown)
            .zip(strengths)
            .map(|(((column, item), text), strength)| QueryColumn {
                id: text.and_then(|at| text_ids.get(at).copied()).unwrap_or(column.id),
                ty: column.ty,
                nullable: column.nullable,
                expr: Expr::made_column(column.id.0, column.ty, column.nullable, strength),
                result: ResultColumn::unnamed(&item.name, column.ty, column.nullable),
            });
    Ok(BoundQuery {
        columns: columns.collect(),
        root: limited(root, limit::bind_limit(binder, block.limit)?),
        limit_of_output: None,
        max_execution: None,
        in_order: false,
        is_merged: false,
        block: None,
    })
}

fn ordered_values(
    binder: &Binder<'_>,
    root: Logical,
    items: &[Item],
    block: &Block<'_>,
    place: QueryPlace<'_>,
) -> Result<Logical> {
    if block.order_by.iter().any(|item| item.expr.has_aggregate()) {
        return Err(invalid_group_function());
    }
    let scope = Scope::default();
    let names = ColumnsThenItems {
        items,
        tables: ScopeNames {
            scope: &scope,
            clause: ORDER_CLAUSE,
            outer: place.outer,
            in_aggregate: false,
        },
        of_groups: None,
        named: RefCell::default(),
    };
    let (mut keys, _) = block_keys::order_by(binder, block, items, &Context::of(&names), &names)?;
    keys.retain(|key| !super::bound_block::is_constant(&key.expr));
    if keys.is_empty() {
        return Ok(root);
    }
    Ok(Logical::Sort {
        input: Box::new(root),
        keys,
    })
}

/// The length of a DECIMAL's text.
const TEXT_CHARS: u32 = 70;

fn as_text(value: &Expr) -> Expr {
    let text = functions::bind::output_text(value).unwrap_or_else(|| value.clone());
    let ty = SqlType::varchar(TEXT_CHARS, types::Collation::DEFAULT);
    functions::bind::implicit_cast(text, ty)
}

/// Columns of values as rows of values.
fn transposed(columns: Vec<Vec<Expr>>, count: usize) -> Vec<Vec<Expr>> {
    let mut rows: Vec<Vec<Expr>> = (0..count).map(|_| Vec::with_capacity(columns.len())).collect();
    for column in columns {
        for (row, value) in rows.iter_mut().zip(column) {
            row.push(value);
        }
    }
    rows
}

/// Error 1136.
fn wrong_count(row: usize) -> Error {
    Error::new(
        errno::ER_WRONG_VALUE_COUNT_ON_ROW,
        format!("Column count doesn't match value count at row {row}"),
    )
}

fn no_columns() -> Error {
    Error::new(
        ER_VALUES_MUST_HAVE_COLUMNS,
        "Each row of a VALUES clause must have at least one column, unless when used as source in an INSERT statement.",
    )
}

fn default_value() -> Error {
    Error::new(
        ER_VALUES_CANNOT_HAVE_DEFAULT,
        "A VALUES clause cannot use DEFAULT values, unless used as a source in an INSERT statement.",
    )
}
