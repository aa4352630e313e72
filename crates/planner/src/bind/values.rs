//! VALUES: rows written out, as a query.

use std::cell::RefCell;

use functions::Expr;
use functions::coercibility::Strength;
use types::{Error, Result, SqlType, errno};

use super::block::Block;
use super::bound_query::{BoundQuery, QueryColumn, QueryPlace, limited};
use super::context::{Aggregates, Context, invalid_group_function};
use super::name_lookup::{ColumnsThenItems, KnownAggregates};
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
    let subqueries = Subqueries::default();
    let names = NoNames { outer: place.outer };
    let context = Context {
        subqueries: Some(&subqueries),
        outer: place.outer,
        ..Context::of(&names)
    };
    let mut expressions = columns_of_rows(binder, rows, &context)?;
    let mut texts: Vec<Vec<Expr>> = Vec::new();
    let mut columns = Vec::with_capacity(expressions.len());
    for values in &mut expressions {
        let as_written: Vec<Expr> = values.iter().map(as_text).collect();
        let strength = functions::bind::strength_of(values);
        let nullable = values.iter().any(Expr::nullable);
        let mut ty = functions::bind::union_type(values, &binder.types)?;
        if rows.len() > 1 && !place.is_statement && ty.is_integer() {
            // Integers of several rows are as wide as can be, those of one row as their values.
            ty.length = WIDEST_INTEGER;
        }
        // A DECIMAL is sent with the digits that it was written with.
        let text = (place.is_statement && ty.is_decimal()).then(|| {
            texts.push(as_written);
            binder.new_column()
        });
        columns.push(ValuesColumn {
            column: Column {
                id: binder.new_column(),
                ty,
                nullable,
            },
            text,
            strength,
        });
    }
    expressions.extend(texts);
    let text_column = |id: ColumnId| Column {
        id,
        ty: SqlType::varchar(TEXT_CHARS, binder.types.collation),
        nullable: true,
    };
    let texts = columns.iter().filter_map(|column| column.text);
    let mut root = Logical::Values {
        rows: transposed(expressions, rows.len()),
        columns: columns
            .iter()
            .map(|column| column.column.clone())
            .chain(texts.map(text_column))
            .collect(),
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
    let items: Vec<Item> = columns
        .iter()
        .enumerate()
        .map(|(position, column)| Item {
            expr: column.column.expr(),
            name: format!("column_{position}"),
            column: None,
        })
        .collect();
    root = ordered_values(binder, root, &items, block, place)?;
    let columns = columns.iter().zip(&items);
    Ok(BoundQuery {
        columns: columns
            .map(|(column, item)| column.of_query(&item.name))
            .collect(),
        root: limited(root, limit::bind_limit(binder, block.limit)?),
        limit_of_output: None,
        max_execution: None,
        in_order: false,
        is_merged: false,
        block: None,
    })
}

/// The length of a BIGINT.
const WIDEST_INTEGER: u32 = 20;

/// A column of VALUES.
struct ValuesColumn {
    column: Column,
    /// The column of its texts, if it is sent as text.
    text: Option<ColumnId>,
    strength: Strength,
}

impl ValuesColumn {
    fn of_query(&self, name: &str) -> QueryColumn {
        let Column { id, ty, nullable } = self.column;
        QueryColumn {
            is_aggregate: false,
            is_rolled_key: false,
            id: self.text.unwrap_or(id),
            ty,
            nullable,
            expr: Expr::made_column(id.0, ty, nullable, self.strength),
            result: ResultColumn::unnamed(name, ty, nullable),
        }
    }
}

/// The expressions of each column, from those of each row.
fn columns_of_rows(
    binder: &Binder<'_>,
    rows: &[Vec<Option<ast::Expr>>],
    context: &Context<'_>,
) -> Result<Vec<Vec<Expr>>> {
    let width = rows.first().map_or(0, Vec::len);
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
            column.push(binder.scalar(value, context)?);
        }
    }
    Ok(columns)
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
    let (aggregates, subqueries) = (Aggregates::default(), Subqueries::default());
    let names = ColumnsThenItems {
        items,
        tables: ScopeNames {
            scope: &scope,
            clause: ORDER_CLAUSE,
            outer: place.outer,
            in_aggregate: false,
        },
        aggregates: KnownAggregates {
            own: &aggregates,
            subqueries: &subqueries,
            outer: place.outer,
        },
        windows: None,
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
