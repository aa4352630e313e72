//! What a statement does to the open transaction before it is looked at any closer: some commit it, and a READ ONLY one
//! refuses others. Both come before names are resolved and privileges checked, as in MySQL, so that a definition that fails
//! has committed all the same.

use syntax::ast::Statement;
use types::Result;

use crate::session::Session;
use crate::transaction::Characteristics;

impl Session {
    /// Does so for a statement that is about to be compiled and run.
    ///
    /// # Errors
    /// 1792 in a READ ONLY transaction; those of the commit.
    pub(crate) fn enter_statement(&mut self, statement: &Statement) -> Result<()> {
        if statement.commits_implicitly() {
            self.commit_implicitly()?;
        }
        self.check_read_write(statement)
    }

    /// The same for one that is prepared: nothing is committed yet.
    pub(crate) fn check_read_write(&self, statement: &Statement) -> Result<()> {
        match statement.needs_read_write() {
            true => self.transaction.check_read_write(&self.settings),
            false => Ok(()),
        }
    }

    /// A commit that nobody asked for. What SET TRANSACTION asked for the next transaction is over as well.
    pub(crate) fn commit_implicitly(&mut self) -> Result<()> {
        self.commit_transaction()?;
        self.transaction.next = Characteristics::default();
        Ok(())
    }
}
