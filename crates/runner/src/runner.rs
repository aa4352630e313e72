//! The beginning and the end of a statement.

use types::{Error, Result, errno};

use crate::environment::Environment;
use crate::interruption::interruption;
use crate::transaction::TransactionContext;

/// Runs statements, one after the other, in one transaction context.
pub struct Runner<'a> {
    pub env: Environment<'a>,
    pub transaction: &'a mut TransactionContext,
}

impl Runner<'_> {
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
        let result = body(self).map_err(|error| self.interruption(error));
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

    pub(crate) fn interruption(&self, error: Error) -> Error {
        interruption(self.env.interrupt, error)
    }
}

/// Whether an error ends the whole transaction, as a deadlock does in InnoDB. Any other undoes its statement
/// alone.
fn ends_transaction(code: u16) -> bool {
    matches!(
        code,
        errno::ER_LOCK_DEADLOCK | errno::ER_RESULT_UNDETERMINED | errno::ER_SCHEMA_OUT_OF_DATE
    )
}
