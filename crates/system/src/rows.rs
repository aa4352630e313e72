//! Rows of a system table, as values and as Arrow batches.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema as ArrowSchema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use functions::{EvalContext, Expr};
use schema::model::Table;
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, TypeKind, Value};

use crate::condition::Conditions;
use crate::table::{Context, Row, Sources};
use crate::tables;

/// Rows of one batch.
const BATCH_ROWS: usize = 1024;

/// The rows of a system table: a value for each of its columns, members of ENUM and SET as texts. What is expensive to compute may be NULL in
/// columns whose offsets are not in `wanted`. `conditions`: each reads one column and can be evaluated
/// without an error or a warning; rows that do not satisfy them may be left out.
///
/// # Errors
/// Those of the store.
pub fn rows(
    sources: Sources<'_>,
    table: &Table,
    wanted: &[usize],
    conditions: &[Expr],
    eval: &EvalContext,
) -> Result<Vec<Row>> {
    let Some(found) = tables::find(&table.database, &table.name) else {
        return Ok(sources.server.measurements(&table.database, &table.name));
    };
    let schema = sources.cluster.schema();
    found.rows(&Context {
        sources,
        schema: &schema,
        conditions: Conditions::new(conditions, table.columns.len(), eval),
        wanted,
    })
}

/// [`rows`] as batches with all the table's columns, in the Arrow types of their SQL types.
///
/// # Errors
/// Those of the store.
pub fn batches(
    sources: Sources<'_>,
    table: &Table,
    wanted: &[usize],
    conditions: &[Expr],
    eval: &EvalContext,
) -> Result<Vec<RecordBatch>> {
    rows(sources, table, wanted, conditions, eval)?
        .chunks(BATCH_ROWS)
        .map(|rows| batch(table, rows))
        .collect()
}

/// The number of a value that a table gives as the text of a member, or of several.
fn member_number(ty: &SqlType, value: &Value) -> Option<Value> {
    let Value::String(text) = value else { return None };
    match ty.kind {
        TypeKind::Enum(members) => {
            let position = members.find(text, ty.collation);
            Some(Value::UInt(position.map_or(0, |position| position as u64 + 1)))
        }
        TypeKind::Set(members) => Some(Value::UInt(members.find_set(text, ty.collation).0)),
        _ => None,
    }
}

fn batch(table: &Table, rows: &[Row]) -> Result<RecordBatch> {
    let mut builders: Vec<ColumnBuilder> = table
        .columns
        .iter()
        .map(|c| ColumnBuilder::new(&c.ty, rows.len()))
        .collect();
    for row in rows {
        if row.len() != builders.len() {
            return Err(Error::internal(format!(
                "{}.{}: a row of {}",
                table.database,
                table.name,
                row.len()
            )));
        }
        for ((builder, column), value) in builders.iter_mut().zip(&table.columns).zip(row) {
            match member_number(&column.ty, value) {
                Some(number) => builder.append(&number)?,
                None => builder.append(value)?,
            }
        }
    }
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|c| Field::new(&c.name, c.ty.arrow_type(), true))
        .collect();
    RecordBatch::try_new_with_options(
        Arc::new(ArrowSchema::new(fields)),
        builders.iter_mut().map(ColumnBuilder::finish).collect(),
        &RecordBatchOptions::new().with_row_count(Some(rows.len())),
    )
    .map_err(Error::internal)
}
