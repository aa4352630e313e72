//! The rows of a recursive common table expression: those of the seed, then round by round those that the
//! step makes of the round before, until a round makes none.
//!
//! Rows leave as they are made, so that a LIMIT within the definition ends a recursion that has no end.
//! Source: manual 15.2.20 "WITH (Common Table Expressions)".

use std::rc::Rc;

use arrow::record_batch::RecordBatch;
use planner::plan::Rel;
use types::{Error, Result, SqlType};

use super::Operator;
use super::distinct::Unseen;
use super::part::PlanPart;
use super::scope::{Round, Scope};
use crate::batch::keep;
use crate::env::Env;
use crate::spill::{HeldRows, HeldRowsBuilder};

const ER_CTE_MAX_RECURSION_DEPTH: u16 = 3636;

pub(super) struct Recursive<'p> {
    step: &'p Rel,
    /// The step's: it has the rows of the round before.
    scope: Scope<'p>,
    before: Rc<Round>,
    before_bytes: usize,
    /// UNION DISTINCT: the rows that have come.
    unseen: Option<Unseen>,
    /// The seed, or the step of this round. `None` at the end.
    current: Option<PlanPart<'p>>,
    /// The rows of this round.
    rows: HeldRowsBuilder,
    rounds: u64,
}

impl<'p> Recursive<'p> {
    /// `types`: those of the columns, by which UNION DISTINCT compares rows; `None` with UNION ALL.
    pub fn open(
        seed: &'p Rel,
        step: &'p Rel,
        types: Option<Vec<SqlType>>,
        scope: &Scope<'p>,
        env: &mut Env<'_, '_>,
    ) -> Result<Self> {
        let before = Rc::new(Round::default());
        Ok(Self {
            step,
            scope: scope.with_round(&before)?,
            before,
            before_bytes: 0,
            unseen: types.map(Unseen::new).transpose()?,
            current: Some(PlanPart::open(seed, scope, env)?),
            rows: HeldRows::builder(),
            rounds: 0,
        })
    }

    /// The step of the next round; `None` if this round has made no rows.
    fn next_round(&mut self, env: &mut Env<'_, '_>) -> Result<Option<PlanPart<'p>>> {
        env.check_interrupted()?;
        if self.rows.is_empty() {
            return Ok(None);
        }
        self.rounds += 1;
        if self.rounds > env.ctx.cte_max_recursion_depth {
            return Err(Error::new(
                ER_CTE_MAX_RECURSION_DEPTH,
                format!(
                    "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a larger \
                     value.",
                    self.rounds
                ),
            ));
        }
        env.memory.shrink(self.before_bytes);
        let rows = std::mem::take(&mut self.rows).finish()?;
        self.before_bytes = rows.held_bytes();
        *self.before.rows.borrow_mut() = Rc::new(rows);
        PlanPart::open(self.step, &self.scope, env).map(Some)
    }
}

impl Operator for Recursive<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            let Some(current) = &mut self.current else {
                return Ok(None);
            };
            let Some(batch) = current.next(env, wanted)? else {
                if let Some(ended) = self.current.take() {
                    ended.close(env);
                }
                self.current = self.next_round(env)?;
                continue;
            };
            let batch = match &mut self.unseen {
                Some(unseen) => keep(&batch, &unseen.mask(&batch, env)?)?,
                None => batch,
            };
            if batch.num_rows() > 0 {
                self.rows.add(batch.clone(), env.memory, env.ctx)?;
                return Ok(Some(batch));
            }
        }
    }
}
