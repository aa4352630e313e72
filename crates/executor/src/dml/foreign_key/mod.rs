//! Foreign keys: what must hold for a row that is written, and what happens to the rows that refer to one
//! that is removed or changed.
//!
//! A row of a child is written under a shared lock of its parent's key ([`parents`]). A row of a parent is
//! removed under an exclusive lock of the same key; after that, a search at the newest version finds all rows
//! that refer to it, since any other transaction has to wait with new ones ([`children`]). Those rows are
//! locked, too, and removed or changed as the key says ([`cascade`]).
//!
//! Optimistic transactions take these locks all the same: their conflicts are found by row, and a row of the
//! child is not the parent's.

mod cascade;
mod children;
mod layout;
mod parents;
mod state;

use std::collections::HashMap;

use kv::{Savepoint, Transaction};
use planner::foreign_key::ForeignKeyPlan;
use types::{Error, Result, errno};

use self::cascade::Chain;
use self::layout::ForeignKeyLayout;
use super::image::Row;
use super::writer::{Writer, unique_keys};
use crate::context::ExecContext;
use crate::memory::Memory;

pub(super) use self::state::ForeignKeys;

/// Position of a statement's own table in [`ForeignKeyPlan::tables`].
const TARGET: usize = 0;

/// Errors 1451 and 1452, which IGNORE turns into warnings.
fn is_violation(error: &Error) -> bool {
    matches!(
        error.code,
        errno::ER_ROW_IS_REFERENCED_2 | errno::ER_NO_REFERENCED_ROW_2
    )
}

impl<'p> ForeignKeys<'p> {
    /// `memory`: that of the statement, which a plan with foreign keys has.
    pub fn of(
        plan: Option<&'p ForeignKeyPlan>,
        memory: Option<&'p Memory<'p>>,
        ctx: &'p ExecContext<'p>,
    ) -> Result<Option<Self>> {
        let Some((plan, memory)) = plan.zip(memory) else {
            return Ok(None);
        };
        Ok(Some(Self {
            plan,
            layout: plan.execution_cache.get_or_make(|| ForeignKeyLayout::of(plan))?,
            ctx,
            locked: HashMap::new(),
            memory,
        }))
    }

    /// Whether rows of the table have to be removed one after the other: what happens to one can change the
    /// next.
    pub fn is_cyclic(&self) -> bool {
        self.plan.tables.first().is_some_and(|keyed| keyed.is_cyclic)
    }

    /// Whether other rows may refer to the table's.
    pub fn has_children(&self) -> bool {
        self.plan
            .tables
            .first()
            .is_some_and(|keyed| !keyed.children.is_empty())
    }

    /// Locks the parents of rows that are about to be written, in one call. The first of a pair is the row
    /// before.
    pub fn lock_parents<'r>(
        &mut self,
        rows: impl Iterator<Item = (Option<&'r Row>, &'r Row)>,
        txn: &mut Transaction,
    ) -> Result<()> {
        self.lock_parents_of(TARGET, rows, txn)
    }

    /// # Errors
    /// 1452 if a new row refers to a row that does not exist.
    pub fn check_parents(&mut self, old: Option<&Row>, new: &Row, txn: &mut Transaction) -> Result<()> {
        self.check_parents_of(TARGET, (old, new), None, txn)
    }

    /// Acts on what refers to rows that have been removed.
    ///
    /// # Errors
    /// 1451 if that must not be; 3008; those of the writes.
    pub fn removed(&mut self, rows: &[Row], txn: &mut Transaction) -> Result<()> {
        let held = self.memory.used_bytes();
        let done = self.act_on_removed(TARGET, rows, &mut Chain::default(), txn);
        self.memory.shrink_to(held);
        done
    }

    /// Acts on what refers to a row that has been changed.
    ///
    /// # Errors
    /// As [`ForeignKeys::removed`].
    pub fn changed(&mut self, old: &Row, new: &Row, txn: &mut Transaction) -> Result<()> {
        let mut chain = Chain::of_update(TARGET);
        let held = self.memory.used_bytes();
        let done = self.act_on_changed(TARGET, &[(old.clone(), new.clone())], &mut chain, txn);
        self.memory.shrink_to(held);
        done
    }

    /// Locks rows that an optimistic transaction removes, so that no other transaction refers to them until
    /// it ends. All others have locked them.
    pub fn lock_removed<'r>(
        &self,
        rows: impl Iterator<Item = (&'r [u8], &'r Row)>,
        writer: &mut Writer<'_, '_>,
    ) -> Result<()> {
        if !writer.txn.is_optimistic() || !self.has_children() {
            return Ok(());
        }
        let maker = writer.maker;
        let mut keys = Vec::new();
        for (key, row) in rows {
            let image = maker.image(row, Some(&maker.handle(key)?), maker.secondary())?;
            keys.extend(unique_keys(&image).map(<[u8]>::to_vec));
        }
        self.lock_if_optimistic(&keys, writer.txn)
    }

    /// What writing a row has come to. With a savepoint (IGNORE), a violation is undone and becomes a
    /// warning: false.
    pub fn settle(
        &self,
        done: Result<()>,
        savepoint: Option<Savepoint>,
        txn: &mut Transaction,
    ) -> Result<bool> {
        let Some(savepoint) = savepoint else {
            return done.map(|()| true);
        };
        match done {
            Err(error) if is_violation(&error) => {
                txn.rollback_to(savepoint);
                txn.release(savepoint);
                crate::dml::warn(self.ctx.eval, error.code, error.message);
                Ok(false)
            }
            done => {
                txn.release(savepoint);
                done.map(|()| true)
            }
        }
    }
}
