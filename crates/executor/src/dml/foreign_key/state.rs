//! The foreign keys of a statement while it runs.

use std::collections::HashMap;

use functions::TimeZone;
use kv::{LockMode, LockOptions, LockWait};
use planner::foreign_key::ForeignKeyPlan;

use super::layout::ForeignKeyLayout;
use crate::context::ExecContext;

/// The foreign keys of one statement's table.
pub(in crate::dml) struct ForeignKeys<'p> {
    pub(super) plan: &'p ForeignKeyPlan,
    pub(super) layout: &'p ForeignKeyLayout,
    pub(super) ctx: &'p ExecContext<'p>,
    /// The keys of parents that this statement has locked, and whether they existed.
    pub(super) locked: HashMap<Vec<u8>, bool>,
}

impl ForeignKeys<'_> {
    pub(super) fn zone(&self) -> TimeZone {
        self.ctx.eval.time_zone
    }

    pub(super) fn options(&self, mode: LockMode) -> LockOptions {
        LockOptions {
            mode,
            wait: LockWait::Timeout(self.ctx.lock_wait),
            interrupt: self.ctx.interrupt.clone(),
        }
    }
}
