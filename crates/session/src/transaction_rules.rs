//! Effects of statements on the open transaction before they run: some commit it, and a READ ONLY transaction
//! refuses others.

use runner::Characteristics;
use syntax::ast::{GrantTarget, Maintenance, ObjectKind, ObjectName, Statement};
use types::Result;

use crate::lock;
use crate::session::Session;

/// Applies the effects of a statement on the open transaction: some commit it, and a READ ONLY one refuses
/// others. As in MySQL, this happens before names are resolved and privileges are checked. So a definition
/// that fails has committed, too, except that `read_only` refuses a statement that names a table before that.
///
/// # Errors
/// 1290 if the server is read-only, 1792 in a READ ONLY transaction; those of the commit.
pub fn enter_statement(session: &mut Session, statement: &Statement) -> Result<()> {
    let refused = session
        .check_writable()
        .err()
        .filter(|_| writes(statement) && !may_write_only_temporary(session, statement));
    match refused {
        Some(refused) if !commits_before_refused(statement) => return Err(refused),
        refused => {
            if statement.commits_implicitly() {
                commit_implicitly(session)?;
            }
            refused.map_or(Ok(()), Err)?;
        }
    }
    if creates_temporary(statement) {
        lock::check_no_xa(session)?;
    }
    check_read_write(session, statement)
}

/// Whether the statement commits even if `read_only` refuses it: MySQL refuses a statement before it commits only where
/// the text names a table to be written, or creates or drops a database.
fn commits_before_refused(statement: &Statement) -> bool {
    match statement {
        Statement::AlterDatabase { .. } | Statement::User(_) | Statement::OfProgram { .. } => true,
        Statement::TableMaintenance { action, .. } => *action == Maintenance::Analyze,
        Statement::Grant(grant) => !matches!(grant.on, GrantTarget::Table(_)),
        Statement::Revoke(revoke) => !matches!(revoke.what, Some((_, GrantTarget::Table(_)))),
        Statement::DropObject { kind, .. } => *kind != ObjectKind::View,
        _ => false,
    }
}

fn creates_temporary(statement: &Statement) -> bool {
    statement.is_temporary() && !matches!(statement, Statement::DropTable { .. })
}

/// Whether `read_only` refuses the statement. REPAIR reports the refusal in its result, so it runs.
fn writes(statement: &Statement) -> bool {
    match statement {
        Statement::TableMaintenance { action, .. } => {
            matches!(action, Maintenance::Analyze | Maintenance::Optimize)
        }
        other => other.needs_read_write(),
    }
}

/// Whether all that the statement writes may be temporary tables, which `read_only` does not protect. Where its
/// text does not show it, the statement is checked again when its tables are known.
fn may_write_only_temporary(session: &Session, statement: &Statement) -> bool {
    if statement.is_temporary() {
        return true;
    }
    if session.temporary.is_empty() {
        return false;
    }
    let is_temporary = |table: &ObjectName| {
        let database = table.database.as_deref().or(session.database.as_deref());
        database.is_some_and(|database| session.temporary.find(database, &table.name).is_some())
    };
    match statement {
        Statement::TableMaintenance { tables, .. } => tables.iter().all(is_temporary),
        Statement::AlterTable { name, .. } | Statement::TruncateTable(name) => is_temporary(name),
        Statement::DropTable { names, .. } => names.iter().all(is_temporary),
        Statement::RenameTable(names) => names
            .iter()
            .all(|(from, to)| is_temporary(from) && is_temporary(to)),
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::LoadData(_)
        | Statement::Query(_)
        | Statement::Explain { .. } => true,
        _ => false,
    }
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
