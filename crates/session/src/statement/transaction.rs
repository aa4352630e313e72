//! BEGIN, COMMIT, ROLLBACK and savepoints.

use runner::{BeginOptions, Characteristics, Isolation};
use syntax::ast::{Completion, TransactionStatement};
use types::{Result, Warning};
use wire::connection::PacketSink;

use super::{Answer, temporary};
use crate::commit;
use crate::reply::{Done, Outcome};
use crate::session::Session;
use crate::statistics::Kind;
use crate::variables::settings::CompletionType;

/// The number under which InnoDB ignores a part of a statement.
const HA_ERR_UNSUPPORTED: u16 = 138;

/// Runs one of them.
pub fn run(
    session: &mut Session,
    statement: &TransactionStatement,
    kind: Kind,
    out: &mut dyn PacketSink,
) -> Answer {
    if matches!(
        statement,
        TransactionStatement::Begin { .. }
            | TransactionStatement::Commit(_)
            | TransactionStatement::Rollback(_)
    ) && let Err(error) = session.transaction.check_outside_xa()
    {
        return Answer::ok(Err(error));
    }
    match statement {
        TransactionStatement::Begin {
            read_only,
            consistent_snapshot,
            optimistic,
        } => {
            let options = BeginOptions {
                read_only: *read_only,
                consistent_snapshot: *consistent_snapshot,
                optimistic: *optimistic,
            };
            Answer::ok(begin(session, options))
        }
        TransactionStatement::Commit(completion) => match completed(session, completion) {
            (false, false) => {
                session.transaction.next = Characteristics::default();
                Answer::ok(commit::commit_replying(session, kind, out))
            }
            (chain, release) => ended(end(session, true, chain), release),
        },
        TransactionStatement::Rollback(completion) => {
            let (chain, release) = completed(session, completion);
            ended(end(session, false, chain), release)
        }
        TransactionStatement::Savepoint(name) => {
            let autocommit = session.settings.run.autocommit;
            session.transaction.savepoint(name, autocommit);
            Answer::ok(Ok(()))
        }
        TransactionStatement::RollbackTo(name) => {
            let done = session.transaction.rollback_to(name);
            let changes = session.transaction.temporary_changes;
            if done.is_ok() {
                temporary::warn_of_rollback(session, changes);
            }
            Answer::ok(done)
        }
        TransactionStatement::ReleaseSavepoint(name) => Answer::ok(session.transaction.release(name)),
    }
}

/// Whether the next transaction begins at once, and whether the connection must be closed.
fn completed(session: &Session, completion: &Completion) -> (bool, bool) {
    let default = session.settings.completion;
    (
        completion.chain.unwrap_or(default == CompletionType::Chain),
        completion.release.unwrap_or(default == CompletionType::Release),
    )
}

/// `release`: the connection must be closed.
fn ended(result: Result<()>, release: bool) -> Answer {
    Answer::Outcome(result.map(|()| match release {
        true => Outcome::Close(Done::default()),
        false => Outcome::Ok(Done::default()),
    }))
}

/// BEGIN and START TRANSACTION: commits the open transaction, and releases the locks of LOCK TABLES.
fn begin(session: &mut Session, options: BeginOptions) -> Result<()> {
    session.runner().commit()?;
    session.table_locks.unlock_named();
    if options.read_only == Some(false) {
        session.check_writable()?;
    }
    let runner = session.runner();
    runner.transaction.begin(runner.env, options)?;
    let has_snapshot = session.transaction.chained().isolation == Some(Isolation::RepeatableRead);
    if options.consistent_snapshot && !has_snapshot {
        session.diagnostics.add(Warning::warning(
            HA_ERR_UNSUPPORTED,
            "InnoDB: WITH CONSISTENT SNAPSHOT was ignored because this phrase can only be used with REPEATABLE \
             READ isolation level.",
        ));
    }
    Ok(())
}

/// COMMIT and ROLLBACK. `chain`: the next transaction begins at once, with the characteristics of this one.
fn end(session: &mut Session, commit: bool, chain: bool) -> Result<()> {
    let characteristics = session.transaction.chained();
    let mut runner = session.runner();
    if commit {
        runner.commit()?;
    } else {
        let changes = runner.transaction.temporary_changes;
        runner.rollback();
        temporary::warn_of_rollback(session, changes);
    }
    let runner = session.runner();
    if !chain {
        runner.transaction.next = Characteristics::default();
        return Ok(());
    }
    runner.transaction.next = characteristics;
    runner.transaction.begin(runner.env, BeginOptions::default())
}
