//! BEGIN, and COMMIT and ROLLBACK with AND CHAIN. The rest is in one line each, in [`crate::statement`].

use runner::{BeginOptions, Characteristics};
use types::Result;

use crate::session::Session;

/// BEGIN and START TRANSACTION: what was open is committed, and what LOCK TABLES has locked is unlocked.
pub fn begin(session: &mut Session, options: BeginOptions) -> Result<()> {
    session.runner().commit()?;
    session.table_locks.unlock_named();
    let runner = session.runner();
    runner.transaction.begin(runner.env, options)
}

/// COMMIT and ROLLBACK. `chain`: the next transaction begins at once, with the characteristics of this one.
pub fn end(session: &mut Session, commit: bool, chain: bool) -> Result<()> {
    let characteristics = session.transaction.chained();
    let mut runner = session.runner();
    if commit {
        runner.commit()?;
    } else {
        runner.rollback();
    }
    if !chain {
        runner.transaction.next = Characteristics::default();
        return Ok(());
    }
    runner.transaction.next = characteristics;
    runner.transaction.begin(runner.env, BeginOptions::default())
}
