//! The foreign keys of a statement while it runs.

use std::collections::HashMap;

use functions::TimeZone;
use kv::{LockMode, LockOptions, LockWait, Transaction};
use planner::foreign_key::ForeignKeyPlan;
use types::Result;

use super::layout::ForeignKeyLayout;
use crate::context::ExecContext;
use crate::memory::Memory;

/// The foreign keys of one statement's table.
pub(in crate::dml) struct ForeignKeys<'p> {
    pub(super) plan: &'p ForeignKeyPlan,
    pub(super) layout: &'p ForeignKeyLayout,
    pub(super) ctx: &'p ExecContext<'p>,
    /// The keys of parents that this statement has locked, and whether they existed.
    pub(super) locked: HashMap<Vec<u8>, bool>,
    /// The statement's memory. It counts the referring rows that are changed, and the keys of parents.
    pub(super) memory: &'p Memory<'p>,
}

impl ForeignKeys<'_> {
    pub(super) fn zone(&self) -> TimeZone {
        self.ctx.eval.time_zone
    }

    /// Locks keys that rows of other tables may refer to, and that are about to be removed or changed. Other
    /// transactions lock what they write anyway.
    pub(super) fn lock_if_optimistic(&self, keys: &[Vec<u8>], txn: &mut Transaction) -> Result<()> {
        if txn.is_optimistic() {
            txn.lock_only(keys, &self.options(LockMode::Exclusive))?;
        }
        Ok(())
    }

    pub(super) fn options(&self, mode: LockMode) -> LockOptions {
        LockOptions {
            mode,
            wait: LockWait::Timeout(self.ctx.lock_wait),
            interrupt: self.ctx.interrupt.clone(),
        }
    }
}
