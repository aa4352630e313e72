//! Effects of statements on the open transaction before they run: some commit it, and a READ ONLY transaction
//! refuses others.

use runner::Characteristics;
use syntax::ast::{Maintenance, Statement};
use types::Result;

use crate::session::Session;

/// Applies the effects of a statement on the open transaction: some commit it, and a READ ONLY one refuses
/// others. As in MySQL, this happens before names are resolved and privileges are checked. So a definition
/// that fails has committed, too.
///
/// # Errors
/// 1290 if the server is read-only, 1792 in a READ ONLY transaction; those of the commit.
pub fn enter_statement(session: &mut Session, statement: &Statement) -> Result<()> {
    if let Err(refused) = session.check_writable()
        && writes(statement)
        && session.temporary.is_empty()
        && !statement.is_temporary()
    {
        return Err(refused);
    }
    if statement.commits_implicitly() {
        commit_implicitly(session)?;
    }
    check_read_write(session, statement)
}

/// Whether `read_only` refuses the statement.
fn writes(statement: &Statement) -> bool {
    let writes_statistics = matches!(
        statement,
        Statement::Histograms { .. }
            | Statement::TableMaintenance {
                action: Maintenance::Analyze,
                ..
            }
    );
    writes_statistics || statement.needs_read_write()
}

/// Fails with 1792 for a statement that a READ ONLY transaction refuses. Temporary tables may be written: if
/// the session has any, the runner decides.
pub fn check_read_write(session: &Session, statement: &Statement) -> Result<()> {
    let may_be_temporary = matches!(
        statement,
        Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::LoadData(_)
            | Statement::Query(_)
    );
    let runner_decides = may_be_temporary && !session.temporary.is_empty();
    match statement.needs_read_write() && !runner_decides {
        true => session
            .transaction
            .check_read_write(session.settings.run.read_only),
        false => Ok(()),
    }
}

/// Commits implicitly. Also discards what SET TRANSACTION has set for the next transaction.
pub fn commit_implicitly(session: &mut Session) -> Result<()> {
    session.transaction.check_outside_xa()?;
    session.runner().commit()?;
    session.transaction.next = Characteristics::default();
    Ok(())
}

/// See [`runner::TransactionContext::join`].
pub fn join_transaction(session: &mut Session, fixes_snapshot: bool) -> Result<()> {
    let runner = session.runner();
    runner.transaction.join(runner.env, fixes_snapshot)
}
