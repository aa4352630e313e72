//! What a statement relies on and locks, its beginning and its end.

use planner::object_access::ObjectAccess;
use types::{Error, Result, errno};

use crate::environment::Environment;
use crate::interruption::interruption;
use crate::lease;
use crate::lock::PlanLocks;
use crate::transaction::TransactionContext;

/// Runs statements, one after the other, in one transaction context.
pub struct Runner<'a> {
    pub env: Environment<'a>,
    pub transaction: &'a mut TransactionContext,
}

impl Runner<'_> {
    /// Names the lease of the node that the transaction relies on, before its statement takes locks. Waits
    /// for one, if there is none.
    ///
    /// # Errors
    /// 8027 without a lease that the transaction can go on with; 1317 or 3024 when interrupted.
    pub fn rely_on_lease(&mut self) -> Result<()> {
        lease::rely_on(self.env, self.transaction)
    }

    /// Takes the metadata locks of a plan. `false`: one of its tables is not what it was at `schema_version`,
    /// for which the plan was made; plan again. `are_held`: the caller holds locks of these tables for longer
    /// (LOCK TABLES).
    ///
    /// # Errors
    /// 1205 after `lock_wait_timeout`; 1317 or 3024 when interrupted.
    pub fn lock_tables(
        &mut self,
        accesses: &[ObjectAccess],
        schema_version: u64,
        are_held: bool,
    ) -> Result<bool> {
        let locks = PlanLocks {
            accesses,
            schema_version,
            are_held,
        };
        locks.take(self.env, self.transaction)
    }

    /// Runs `body` as one statement: what it writes stays if it succeeds and is undone if it fails. If the
    /// statement is not part of a longer transaction, it is committed.
    ///
    /// # Errors
    /// Those of `body`, 3024 in place of 1317 at the time limit; those of the commit.
    pub fn statement<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.statement_then(body, Self::commit)
    }

    /// [`Runner::statement`], with another way to commit it.
    pub fn statement_then<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T>,
        commit: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<T> {
        let savepoint = self.transaction.statement_savepoint();
        let result = body(self).map_err(|error| interruption(self.env.interrupt, error));
        match &result {
            Err(error) if ends_transaction(error.code) => {
                self.rollback();
                self.transaction.fail_xa(error.code == errno::ER_LOCK_DEADLOCK);
            }
            Err(_) if self.transaction.ends_with_statement() => self.rollback(),
            Ok(_) if self.transaction.ends_with_statement() => commit(self)?,
            _ => {
                self.transaction.end_statement(savepoint, result.is_ok());
                if !self.transaction.in_transaction() {
                    self.transaction.locks.release_all();
                }
            }
        }
        result
    }

    /// A statement has failed, perhaps before it was opened.
    pub fn end_of_failure(&mut self, error: &Error) {
        let is_deadlock = error.code == errno::ER_LOCK_DEADLOCK && self.transaction.is_open();
        if is_deadlock || error.code == errno::ER_SCHEMA_OUT_OF_DATE {
            self.rollback();
            self.transaction.fail_xa(is_deadlock);
        } else if !self.transaction.in_transaction() {
            self.transaction.locks.release_all();
        }
    }
}

/// Whether an error ends the whole transaction, as a deadlock does in InnoDB. Any other undoes its statement
/// alone. A write conflict does so at a statement as at the commit: a client that begins again must not commit the
/// first half.
fn ends_transaction(code: u16) -> bool {
    matches!(
        code,
        errno::ER_LOCK_DEADLOCK
            | errno::ER_WRITE_CONFLICT
            | errno::ER_RESULT_UNDETERMINED
            | errno::ER_SCHEMA_OUT_OF_DATE
    )
}
