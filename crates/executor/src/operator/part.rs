//! A part of a plan whose operators are dropped before the statement ends, such as a subquery that runs for
//! each row.

use arrow::record_batch::RecordBatch;
use planner::plan::Rel;
use types::Result;

use super::BoxOperator;
use super::scope::Scope;
use crate::env::Env;

pub(super) struct PlanPart<'p> {
    root: BoxOperator<'p>,
    scope: Scope<'p>,
    /// What its operators hold of the statement's memory, which is free again once they are dropped.
    held_bytes: usize,
}

impl<'p> PlanPart<'p> {
    pub fn open(rel: &'p Rel, scope: &Scope<'p>, env: &mut Env<'_, '_>) -> Result<Self> {
        Ok(Self {
            root: scope.build(rel, env)?,
            scope: scope.clone(),
            held_bytes: 0,
        })
    }

    /// As [`super::Operator::next`].
    pub fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let held = |env: &Env<'_, '_>| {
            // Common tables outlive the part.
            env.memory.used_bytes().saturating_sub(self.scope.held_bytes())
        };
        let before = held(env);
        let batch = self.root.next(env, wanted)?;
        let after = held(env);
        self.held_bytes = (self.held_bytes + after).saturating_sub(before);
        Ok(batch)
    }

    pub fn close(self, env: &Env<'_, '_>) {
        drop(self.root);
        env.memory.shrink(self.held_bytes);
    }
}
