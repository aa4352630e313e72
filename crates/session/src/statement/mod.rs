//! Statements without a plan, one kind per file: definitions, transactions, SET, SHOW, KILL, accounts. Each
//! does its work and replies OK, or sends a listing.

pub mod absent_program;
pub mod account;
mod checksum;
mod create_select;
mod ddl_jobs;
mod definition;
mod definition_context;
mod drop_absent;
pub mod explain;
mod field_writer;
pub mod flush;
mod get_diagnostics;
mod grant;
mod histograms;
mod inner_plan;
mod into_file;
pub mod kill;
pub mod load_data;
mod lock_tables;
mod maintenance;
pub mod named;
mod of_row;
mod persist;
pub mod set;
pub mod show;
mod signal;
mod split_table;
mod table_is_there;
mod temporary;
mod transaction;
mod xa;

use std::io;

use accounts::change::Leniency;
use functions::Strictness;
use planner::command::{Command, Show};
use schema::definition::Ddl;
use syntax::ast::{ServerShow, TransactionStatement, XaStatement};
use types::Result;
use wire::connection::PacketSink;
use wire::row::Format;

use crate::instance_lock;
use crate::listing::Listing;
use crate::reply::{self, Done, Outcome};
use crate::session::Session;
use crate::statistics::Kind;
use crate::transaction_rules;

/// The result of a statement.
enum Answer {
    Outcome(Result<Outcome>),
    Listing(Result<Listing>),
}

impl Answer {
    fn ok(result: Result<()>) -> Self {
        Self::Outcome(result.map(|()| Outcome::Ok(Done::default())))
    }
}

/// Runs a statement, and sends its rows if it has any.
///
/// # Errors
/// The client is gone.
pub fn run(
    session: &mut Session,
    command: &Command,
    format: Format,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    let kind = Kind::of_command(command);
    if let Command::LoadData(load) = command {
        let done = load_data::run(session, load, out)?;
        return Ok((kind, done.map(Outcome::Ok)));
    }
    let answer = match listing(session, command) {
        Some(listing) => Answer::Listing(listing),
        None => answer(session, command, kind, out),
    };
    session.command_params.clear();
    let outcome = match answer {
        Answer::Outcome(outcome) => outcome,
        // EXPLAIN FOR CONNECTION of an idle connection.
        Answer::Listing(Ok(listing)) if listing.columns.is_empty() => Ok(Outcome::Ok(Done::default())),
        Answer::Listing(Ok(listing)) => send(session, command, &listing, format, out)?,
        Answer::Listing(Err(error)) => Err(error),
    };
    Ok((kind, outcome))
}

/// Runs a definition. Definitions of temporary tables are run here. All others are committed when they end.
pub fn run_definition(session: &mut Session, ddl: &Ddl) -> Result<Done> {
    let of_temporary = match session.temporary.is_empty() {
        true => None,
        false => temporary::run_named(session, ddl),
    };
    of_temporary.unwrap_or_else(|| definition::run(session, ddl))
}

/// Statements that answer with rows.
pub fn listing(session: &mut Session, command: &Command) -> Option<Result<Listing>> {
    Some(match command {
        Command::Show(show) => {
            let eval = session.command_context(Strictness::Warn);
            show::show(session, show, &eval)
        }
        Command::Explain(explained) => explain::explain(session, explained),
        Command::ExplainConnection { format, connection } => {
            explain::of_connection(session, *format, *connection)
        }
        Command::User(statement) if account::makes_passwords(statement) => {
            account::run_with_passwords(session, statement)
        }
        Command::Xa(XaStatement::Recover { convert }) => xa::recover(session, *convert),
        Command::AdminShowDdlJobs { past } => ddl_jobs::show(session, *past),
        Command::AdminCancelDdlJobs { jobs } => ddl_jobs::cancel(session, jobs),
        Command::CheckTable { tables } => maintenance::check(session, tables),
        Command::ChecksumTable { tables, quick } => checksum::run(session, tables, *quick),
        Command::AnalyzeTable { tables } => maintenance::analyze(session, tables),
        Command::MaintenanceFailed { table, action, error } => Ok(maintenance::failed(table, *action, error)),
        Command::Histograms {
            tables,
            columns,
            change,
        } => histograms::run(session, tables, columns, change),
        Command::OptimizeTable { tables } => maintenance::optimize(session, tables),
        Command::RepairTable { tables } => maintenance::repair(session, tables),
        Command::KeyCache { tables, preload } => maintenance::key_cache(session, tables, *preload),
        Command::SplitTable { table, index, points } => {
            split_table::split(session, table, index.as_deref(), points)
        }
        _ => return None,
    })
}

fn send(
    session: &mut Session,
    command: &Command,
    listing: &Listing,
    format: Format,
    out: &mut dyn PacketSink,
) -> io::Result<Result<Outcome>> {
    if !matches!(
        command,
        Command::Show(Show::OfServer(ServerShow::Warnings { .. }))
    ) {
        session.last.found_rows = listing.rows.len() as u64;
    }
    session.hide_warning_count = matches!(
        command,
        Command::Show(Show::OfServer(
            ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. }
        ))
    );
    let sent = reply::send_listing(session, listing, format, out);
    session.hide_warning_count = false;
    Ok(sent?.map(|()| Outcome::Sent))
}

/// Statements that reply OK with contents.
fn answer(session: &mut Session, command: &Command, kind: Kind, out: &mut dyn PacketSink) -> Answer {
    match command {
        Command::Xa(statement) => Answer::ok(xa::run(session, statement)),
        Command::Transaction(statement) => transaction::run(session, statement, kind, out),
        Command::Prepare { name, source } => {
            let done = Done {
                info: "Statement prepared".into(),
                ..Done::default()
            };
            Answer::Outcome(named::prepare(session, name, source).map(|()| Outcome::Ok(done)))
        }
        Command::GetDiagnostics(asked) => {
            let found = get_diagnostics::run(session, asked);
            Answer::Outcome(found.map(|found| Outcome::Aside { adds: !found }))
        }
        Command::Signal(signal) => Answer::ok(signal::run(session, signal)),
        Command::Resignal => Answer::ok(Err(signal::no_handler())),
        Command::OfRow(of_row) => Answer::Outcome(of_row::run(session, of_row).map(Outcome::Ok)),
        Command::CreateTableSelect(create) => {
            Answer::Outcome(create_select::run(session, create).map(Outcome::Ok))
        }
        Command::TableIsThere(found) => Answer::ok(table_is_there::run(session, found)),
        Command::IntoFile(into) => Answer::Outcome(into_file::run(session, into).map(Outcome::Ok)),
        Command::Temporary(ddl) => Answer::Outcome(temporary::run(session, ddl).map(Outcome::Ok)),
        other => Answer::ok(plain(session, other)),
    }
}

/// Statements that reply OK and nothing else.
fn plain(session: &mut Session, command: &Command) -> Result<()> {
    match command {
        Command::Use { database } => session.use_database(database),
        Command::Set(items) => set::set(session, items),
        Command::Kill {
            connection,
            query_only,
        } => {
            let eval = session.command_context(Strictness::Warn);
            let id = kill::connection_number(&functions::eval_value(connection, &eval)?)?;
            kill::kill(session, id, *query_only)
        }
        Command::AdminCheckTable { tables } => maintenance::admin_check(session, tables),
        Command::Deallocate { name } => named::deallocate(session, name),
        Command::DoNothing(exprs) => {
            let eval = session.command_context(Strictness::Warn);
            exprs
                .iter()
                .try_for_each(|e| functions::eval_value(e, &eval).map(drop))?;
            session.end_of_evaluation(&eval);
            Ok(())
        }
        Command::Flush(kinds) => flush::run(session, kinds),
        Command::FlushTables { tables, read_lock } => flush::tables(session, tables, *read_lock),
        Command::DropAbsent {
            kind,
            names,
            if_exists,
        } => drop_absent::run(session, *kind, names, *if_exists),
        Command::OfProgram { action, kind, name } => {
            Err(absent_program::failure(session, *action, *kind, name))
        }
        Command::LockTables { tables } => {
            lock_tables::lock(session, tables)?;
            transaction_rules::join_transaction(session, false)
        }
        Command::UnlockTables => lock_tables::unlock(session),
        Command::LockInstance => instance_lock::lock(session),
        Command::UnlockInstance => instance_lock::unlock(session),
        Command::ResetPersist { name, if_exists } => persist::reset(session, name.as_deref(), *if_exists),
        Command::Grant {
            grant,
            users,
            grantor,
        } => grant::grant(session, grant, users, grantor.as_ref()),
        Command::Revoke {
            what,
            users,
            if_exists,
            ignore_unknown,
        } => {
            let leniency = Leniency {
                if_exists: *if_exists,
                ignore_unknown: *ignore_unknown,
            };
            grant::revoke(session, what.as_ref(), users, leniency)
        }
        other => account::run(session, other),
    }
}

impl Kind {
    fn of_command(command: &Command) -> Self {
        match command {
            Command::Transaction(TransactionStatement::Begin { .. }) => Kind::Begin,
            Command::Transaction(TransactionStatement::Commit { .. }) => Kind::Commit,
            Command::Transaction(TransactionStatement::Rollback { .. }) => Kind::Rollback,
            Command::Set(_) => Kind::Set,
            Command::Show(_) => Kind::Show,
            Command::Prepare { .. } => Kind::Prepare,
            Command::TableIsThere(_) => Kind::Definition,
            _ => Kind::Other,
        }
    }
}
