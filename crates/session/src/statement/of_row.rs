//! Commands that use the values of a query's only row: SELECT ... INTO variables; SET and DO with subqueries.

use arrow::record_batch::RecordBatch;
use executor::RowSink;
use functions::Expr;
use planner::command::{OfRow, RowUse, SetItem};
use planner::plan::ResultColumn;
use types::array::ColumnView;
use types::{Error, Result, Value, Warning, errno};

use super::{inner_plan, set};
use crate::compile;
use crate::reply::Done;
use crate::session::Session;

const ER_SP_FETCH_NO_DATA: u16 = 1329;

pub fn run(session: &mut Session, command: &OfRow) -> Result<Done> {
    let row = row(session, command)?;
    let affected = u64::from(row.is_some());
    match (&command.row_use, row) {
        (RowUse::Nothing, _) => return Ok(Done::default()),
        (RowUse::Set(items), Some(row)) => {
            set::set(session, &with_values(items, &row))?;
            return Ok(Done::default());
        }
        (RowUse::Into(variables), Some(row)) => {
            let item = |(name, value): (&String, Expr)| SetItem::User {
                name: name.clone(),
                value,
            };
            set::set(session, &variables.iter().zip(row).map(item).collect::<Vec<_>>())?;
        }
        (RowUse::Into(_) | RowUse::Set(_), None) => session.diagnostics.add(Warning::warning(
            ER_SP_FETCH_NO_DATA,
            "No data - zero rows fetched, selected, or processed",
        )),
    }
    session.last.found_rows = affected;
    Ok(Done {
        affected,
        ..Done::default()
    })
}

/// The query's only row, as literals.
fn row(session: &mut Session, command: &OfRow) -> Result<Option<Vec<Expr>>> {
    let planned = compile::optimized(session, command.query.clone(), true)?;
    let plan = inner_plan::lock(session, planned, command.schema_version)?;
    let query = inner_plan::query_of(&plan)?;
    let mut only = OnlyRow {
        columns: &query.columns,
        row: None,
    };
    inner_plan::query(session, query, &mut only)?;
    Ok(only.row)
}

/// The items with the row's values in place of its columns.
fn with_values(items: &[SetItem], row: &[Expr]) -> Vec<SetItem> {
    let mut items = items.to_vec();
    for item in &mut items {
        if let SetItem::Variable {
            value: Some(value), ..
        }
        | SetItem::User { value, .. } = item
            && let Expr::Column { index, .. } = value
            && let Some(found) = row.get(*index)
        {
            *value = found.clone();
        }
    }
    items
}

/// Takes one row; error 1172 for more.
struct OnlyRow<'a> {
    columns: &'a [ResultColumn],
    row: Option<Vec<Expr>>,
}

impl RowSink for OnlyRow<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if batch.num_rows() > 1 || self.row.is_some() {
            return Err(Error::new(
                errno::ER_TOO_MANY_ROWS,
                "Result consisted of more than one row",
            ));
        }
        let columns = batch.columns().iter().zip(self.columns);
        let literal = columns.map(|(array, column)| {
            let value: Value = ColumnView::new(array, &column.ty).value(0);
            Expr::literal(value, column.ty)
        });
        self.row = Some(literal.collect());
        Ok(())
    }
}
