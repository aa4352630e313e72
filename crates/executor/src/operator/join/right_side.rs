//! The right side of a join as one batch, which is held in memory and counted.
//!
//! Within a subquery that runs for each row, the same join is opened again and again. A right side that takes
//! nothing from outside has the same rows in all runs: they are remembered ([`Scope::remembering`]).

use std::collections::HashSet;

use arrow::compute;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use planner::plan::Rel;
use types::{Error, Result, SqlType, errno};

use crate::batch::{ALL_ROWS, arrow_error, batch_bytes, schema_of};
use crate::env::Env;
use crate::operator::part::PlanPart;
use crate::operator::scope::Scope;

pub(in crate::operator) struct RightSide<'p> {
    rel: &'p Rel,
    types: Vec<SqlType>,
    scope: Scope<'p>,
    taken: RowsTaken,
}

/// How many rows of a subquery matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operator) enum RowsTaken {
    All,
    First,
    /// A second one is an error.
    One,
}

impl<'p> RightSide<'p> {
    pub fn new(rel: &'p Rel, types: &[SqlType], taken: RowsTaken, scope: &Scope<'p>) -> Self {
        Self {
            rel,
            types: types.to_vec(),
            scope: scope.clone(),
            taken,
        }
    }

    pub fn rows(&self, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        if let Some(rows) = self.scope.remembered(self.rel) {
            return Ok(rows);
        }
        let mut part = PlanPart::open(self.rel, &self.scope, env)?;
        let rows = self.read(&mut part, env)?;
        part.close(env);
        env.memory.grow(batch_bytes(&rows))?;
        if self.scope.remembers() && is_self_contained(self.rel) {
            self.scope.remember(self.rel, &rows);
        }
        Ok(rows)
    }

    /// Reads all rows. The part counts them while there are several batches.
    fn read(&self, part: &mut PlanPart<'p>, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        let wanted = match self.taken {
            RowsTaken::All => ALL_ROWS,
            RowsTaken::First => 1,
            RowsTaken::One => 2,
        };
        let (mut batches, mut rows): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
        while let Some(batch) = part.next(env, wanted)? {
            part.grow(batch_bytes(&batch), env)?;
            rows += batch.num_rows();
            batches.push(batch);
            match self.taken {
                RowsTaken::First => break,
                RowsTaken::One if rows > 1 => {
                    env.eval().unless_ignored(more_than_one_row())?;
                    batches.clear();
                    break;
                }
                _ => {}
            }
        }
        match batches.as_slice() {
            [] => Ok(RecordBatch::new_empty(schema_of(&self.types))),
            [one] => Ok(one.clone()),
            several => compute::concat_batches(several[0].schema_ref(), several).map_err(arrow_error),
        }
    }
}

#[cold]
pub(in crate::operator) fn more_than_one_row() -> Error {
    Error::new(errno::ER_SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row")
}

/// Whether a plan gives the same rows wherever it runs in a statement: it takes no value of an outer row,
/// uses no common table from outside, and has no function that gives something else each time.
fn is_self_contained(rel: &Rel) -> bool {
    let (mut slots, mut tables) = (HashSet::new(), HashSet::new());
    rel.walk(&mut |rel| match rel {
        Rel::Apply(apply) => slots.extend(apply.outer.iter().map(|outer| outer.slot)),
        Rel::With { id, .. } => {
            tables.insert(*id);
        }
        _ => {}
    });
    let mut contained = true;
    rel.walk(&mut |rel| {
        if let Rel::CommonTable { id, .. } = rel {
            contained &= tables.contains(id);
        }
        rel.expressions(&mut |expr| {
            contained &= functions::is_deterministic(expr);
            expr.walk(&mut |expr| {
                if let Expr::Outer { slot, .. } = expr {
                    contained &= slots.contains(slot);
                }
            });
        });
    });
    contained
}
