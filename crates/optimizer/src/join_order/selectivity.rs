//! How many rows satisfy a join's condition, by how many values its columns have: from statistics, else from
//! keys.

use std::sync::Arc;

use functions::Expr;
use planner::logical::{ColumnId, Logical};
use schema::model::{SchemaState, Table};

use crate::estimates::{Estimates, TableEstimate};
use crate::expr::bare_column;

/// One value in so many rows, in a column of which nothing is known.
const ROWS_PER_VALUE: f64 = 10.0;
/// The share of pairs that satisfies a condition that is no equality.
const OTHER: f64 = 0.3;
/// The number of values in a column that no table has.
const UNKNOWN_VALUES: f64 = 100.0;

#[derive(Debug)]
struct Known {
    first: ColumnId,
    table: Arc<Table>,
    rows: f64,
    /// By column offset, where statistics have it.
    distinct: Vec<Option<f64>>,
}

/// How many values the columns of a query's tables have.
#[derive(Debug, Default)]
pub struct DistinctValues {
    tables: Vec<Known>,
}

impl DistinctValues {
    /// Takes in the tables of a part of the query.
    pub fn learn(&mut self, rel: &Logical, estimates: &dyn Estimates) {
        rel.walk(&mut |rel| {
            if let Logical::Get(get) = rel
                && !self.tables.iter().any(|known| known.first == get.first)
            {
                let estimate = TableEstimate::new(&get.table, estimates);
                let distinct = |offset| estimate.distinct(offset);
                self.tables.push(Known {
                    first: get.first,
                    rows: (estimate.rows as f64).max(1.0),
                    distinct: (0..get.table.columns.len()).map(distinct).collect(),
                    table: Arc::clone(&get.table),
                });
            }
        });
    }

    fn of(&self, expr: &Expr) -> f64 {
        let Some(id) = column_below(expr) else {
            return UNKNOWN_VALUES;
        };
        let found = self.tables.iter().find_map(|known| {
            let offset = id.0.checked_sub(known.first.0)?;
            (offset < known.table.columns.len()).then_some((offset, known))
        });
        let Some((offset, known)) = found else {
            return UNKNOWN_VALUES;
        };
        if let Some(distinct) = known.distinct[offset] {
            return distinct;
        }
        let (table, rows) = (&known.table, known.rows);
        // A part of a key of n has the nth root of its values: together they are as many as the rows.
        let mut parts = usize::MAX;
        let primary = table.primary_parts();
        if primary.iter().any(|part| part.column == offset) {
            parts = primary.len();
        }
        for index in &table.indexes {
            let is_part = index.parts.iter().any(|part| part.column == offset);
            if index.unique && index.state == SchemaState::Public && is_part {
                parts = parts.min(index.parts.len());
            }
        }
        if parts == usize::MAX {
            return (rows / ROWS_PER_VALUE).max(1.0);
        }
        rows.powf(1.0 / parts as f64)
    }

    /// The share of pairs that satisfies a condition.
    pub fn share(&self, condition: &Expr) -> f64 {
        if let Expr::Call { function, args, .. } = condition
            && let ("=" | "<=>", [a, b]) = (function.0.name, args.as_slice())
        {
            return 1.0 / self.of(a).max(self.of(b)).max(1.0);
        }
        OTHER
    }

    pub fn share_of_all(&self, conditions: &[Expr]) -> f64 {
        conditions.iter().map(|condition| self.share(condition)).product()
    }
}

/// The column that an expression is, conversions aside.
fn column_below(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Cast { input, .. } => column_below(input),
        other => bare_column(other.as_stored()),
    }
}
