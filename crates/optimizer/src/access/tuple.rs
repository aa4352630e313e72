//! Conditions on several columns at once: `(a, b) IN ((1, 2), (3, 4))`, which has become `a = 1 AND b = 2 OR
//! a = 3 AND b = 4`.

use functions::Expr;
use schema::model::{IndexPart, Table};

use super::interval::Interval;
use super::sarg;
use planner::plan::RangeValue;

/// The columns are one of the rows.
#[derive(Debug, Clone)]
pub struct Tuples {
    pub columns: Vec<usize>,
    /// Each row has one value per column, in the order of the columns.
    pub rows: Vec<Vec<RangeValue>>,
    pub exact: bool,
}

/// The rows of values that an OR of ANDs allows, if all its alternatives fix the same columns.
pub fn of(condition: &Expr, table: &Table) -> Option<Tuples> {
    let Expr::Call { function, args, .. } = condition else {
        return None;
    };
    if function.0.name != "or" {
        return None;
    }
    let mut tuples: Option<Tuples> = None;
    for alternative in args {
        let row = row(alternative, table)?;
        let tuples = tuples.get_or_insert_with(|| Tuples {
            columns: row.iter().map(|(column, ..)| *column).collect(),
            rows: Vec::with_capacity(args.len()),
            exact: true,
        });
        if row.len() != tuples.columns.len() {
            return None;
        }
        let mut values = Vec::with_capacity(row.len());
        for column in &tuples.columns {
            let (_, value, exact) = row.iter().find(|(c, ..)| c == column)?;
            values.push(value.clone());
            tuples.exact &= exact;
        }
        tuples.rows.push(values);
    }
    tuples.filter(|tuples| tuples.columns.len() > 1)
}

/// The values of one alternative: each condition of it gives a column one value.
fn row(alternative: &Expr, table: &Table) -> Option<Vec<(usize, RangeValue, bool)>> {
    let mut row: Vec<(usize, RangeValue, bool)> = Vec::new();
    for condition in planner::conjuncts(Some(alternative)) {
        let sarg = sarg::alternative(condition, table)?;
        let [Interval::Point(value)] = sarg.intervals.as_slice() else {
            return None;
        };
        if row.iter().any(|(column, ..)| *column == sarg.column) {
            return None;
        }
        row.push((sarg.column, value.clone(), sarg.exact));
    }
    Some(row)
}

impl Tuples {
    /// The rows as values of an index's leading parts, if these are the columns, whole.
    pub fn prefixes(&self, parts: &[IndexPart]) -> Option<Vec<Vec<RangeValue>>> {
        let leading = parts.get(..self.columns.len())?;
        let mut positions = Vec::with_capacity(leading.len());
        for part in leading {
            let position = self.columns.iter().position(|column| *column == part.column)?;
            positions.push(position);
            if part.prefix.is_some() {
                return None;
            }
        }
        let permuted = |row: &Vec<RangeValue>| positions.iter().map(|&p| row[p].clone()).collect();
        Some(self.rows.iter().map(permuted).collect())
    }
}
