//! The commands of the protocol, one per packet. `server` handles COM_CHANGE_USER.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use syntax::ast::SqlCommand;
use types::{Collation, Error, Result, errno};
use wire::capability;
use wire::command::Command;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::client_charset;
use crate::compile;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::events::event_name::ProtocolCommand;
use crate::events::general_log;
use crate::prepared;
use crate::query::plan_columns;
use crate::reply::{self, Done};
use crate::session::Session;
use crate::statement::{flush, kill, show};
use crate::text;

impl Session {
    /// Runs one command packet and sends its reply.
    ///
    /// # Errors
    /// The client is gone.
    pub fn handle(&mut self, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let flow = run(self, packet, out)?;
        if !self.reply_waits {
            let now = self.ended.take().unwrap_or_else(Instant::now);
            self.process.end(now);
        }
        if self.process.is_killed() {
            return Ok(Flow::Close);
        }
        Ok(flow)
    }

    /// Must be called if a commit with a pending reply has failed and the client has received the error.
    pub fn pending_reply_failed(&mut self, error: &Error) {
        // The client has not received the changes that the reply would have reported.
        self.tracker.forget_transaction();
        reply::note_failure(self, error);
    }
}

fn run(session: &mut Session, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
    session.more_results = false;
    session.reply_waits = false;
    session.process.clear_interrupt();
    let command = match Command::decode(packet, session.client.info.capabilities) {
        Ok(command) => command,
        Err(error) => {
            reply::fail(session, &error, out)?;
            return Ok(Flow::Continue);
        }
    };
    match command {
        Command::Quit => return Ok(Flow::Close),
        Command::Query(query) => {
            return query_command(session, query.text, out);
        }
        Command::StmtExecute(execute) => {
            let result = prepared::execute::run(session, &execute, out)?;
            send_result(session, result, out)?;
        }
        Command::StmtPrepare(text) => {
            let result = prepared::prepare::run(session, text, out)?;
            if let Err(error) = result {
                reply::fail(session, &error, out)?;
            }
        }
        other => run_protocol_command(session, other, out)?,
    }
    Ok(Flow::Continue)
}

/// Runs a command that is not a statement, and counts it by its name.
fn run_protocol_command(
    session: &mut Session,
    command: Command<'_>,
    out: &mut dyn PacketSink,
) -> io::Result<()> {
    let started = Instant::now();
    let name = name_of(&command);
    let failed = match command {
        Command::StmtClose(id) => {
            session.process.counters.add(StatusCounter::StmtClose, 1);
            session.prepared.close(id);
            false
        }
        Command::StmtSendLongData {
            statement_id,
            parameter,
            data,
        } => {
            session.process.counters.add(StatusCounter::StmtSendLongData, 1);
            let most = session.settings.max_allowed_packet;
            let memory = session.shared.engine.memory;
            session
                .prepared
                .long_data(statement_id, parameter, data, most, memory);
            false
        }
        Command::StmtFetch { statement_id, rows } => {
            session.process.counters.add(StatusCounter::StmtFetch, 1);
            let result = prepared::execute::fetch(session, statement_id, rows, out)?;
            let failed = result.is_err();
            if let Err(error) = result {
                reply::fail(session, &error, out)?;
            }
            failed
        }
        other => {
            let result = small_command(session, other, out)?;
            let failed = result.is_err();
            send_result(session, result, out)?;
            failed
        }
    };
    let now = Instant::now();
    session.ended = Some(now);
    session.shared.record_protocol_command(
        name,
        failed,
        now.saturating_duration_since(started),
        &session.process,
    );
    Ok(())
}

fn name_of(command: &Command<'_>) -> ProtocolCommand {
    match command {
        Command::Quit => ProtocolCommand::Quit,
        Command::InitDb(_) => ProtocolCommand::InitDb,
        Command::FieldList { .. } => ProtocolCommand::FieldList,
        Command::Refresh(_) => ProtocolCommand::Refresh,
        Command::Statistics => ProtocolCommand::Statistics,
        Command::ProcessInfo => ProtocolCommand::ProcessList,
        Command::ProcessKill(_) => ProtocolCommand::Kill,
        Command::Debug => ProtocolCommand::Debug,
        Command::Ping => ProtocolCommand::Ping,
        Command::ResetConnection => ProtocolCommand::ResetConnection,
        Command::SetMultiStatements(_) => ProtocolCommand::SetOption,
        Command::StmtPrepare(_) => ProtocolCommand::Prepare,
        Command::StmtExecute(_) => ProtocolCommand::Execute,
        Command::StmtSendLongData { .. } => ProtocolCommand::LongData,
        Command::StmtClose(_) => ProtocolCommand::CloseStatement,
        Command::StmtReset(_) => ProtocolCommand::ResetStatement,
        Command::StmtFetch { .. } => ProtocolCommand::Fetch,
        Command::Query(_) | Command::ChangeUser(_) => ProtocolCommand::Error,
    }
}

/// Commands that need only a few lines. `Ok(None)`: the reply has been sent.
fn small_command(
    session: &mut Session,
    command: Command<'_>,
    out: &mut dyn PacketSink,
) -> io::Result<Result<Option<Done>>> {
    let done = Ok(Ok(Some(Done::default())));
    if let Err(error) = begin_small(session, &command) {
        return Ok(Err(error));
    }
    match command {
        Command::Ping => {
            session.process.counters.count_beside(SqlCommand::AdminCommands);
            done
        }
        Command::InitDb(name) => {
            session.begin_statement();
            session.process.counters.count_command(SqlCommand::ChangeDatabase);
            let used = client_charset::decode_text(session, name).and_then(|name| {
                general_log::log_command(session, "Init DB", &name);
                session.use_database(&name)
            });
            Ok(used.map(|()| Some(Done::default())))
        }
        Command::ResetConnection => {
            session.reset();
            done
        }
        Command::SetMultiStatements(on) => {
            if on {
                session.client.info.capabilities |= capability::MULTI_STATEMENTS;
            } else {
                session.client.info.capabilities &= !capability::MULTI_STATEMENTS;
            }
            // MySQL replies with EOF. Clients also accept an OK in the form of DEPRECATE_EOF.
            reply::send_rows_end(session, 0, out)?;
            Ok(Ok(None))
        }
        Command::StmtReset(id) => {
            session.process.counters.add(StatusCounter::StmtReset, 1);
            Ok(session.prepared.reset(id).map(|()| Some(Done::default())))
        }
        Command::ProcessKill(id) => {
            Ok(kill::kill(session, u64::from(id), false).map(|()| Some(Done::default())))
        }
        Command::Statistics => {
            let line = session.shared.one_line();
            out.send(line.as_bytes())?;
            Ok(Ok(None))
        }
        Command::ProcessInfo => {
            let listing = show::process_list(session, false);
            Ok(reply::send_listing(session, &listing, Format::Text, out)?.map(|()| None))
        }
        Command::FieldList { table, wildcard } => {
            session.begin_statement();
            Ok(field_list(session, table, wildcard, out)?.map(|()| None))
        }
        Command::Refresh(kinds) => Ok(flush::refresh(session, kinds).map(|()| Some(Done::default()))),
        Command::Debug => {
            reply::send_rows_end(session, 0, out)?;
            Ok(Ok(None))
        }
        _ => Ok(Err(Error::new(errno::ER_UNKNOWN_COM_ERROR, "Unknown command"))),
    }
}

/// Applies what was granted and revoked since the last command.
///
/// # Errors
/// 1820 if the account has to change its password first.
fn begin_small(session: &mut Session, command: &Command<'_>) -> Result<()> {
    if matches!(command, Command::Ping | Command::StmtReset(_)) {
        return Ok(());
    }
    session.refresh_client();
    let guard = session.client.guard.as_ref();
    guard.map_or(Ok(()), |guard| guard.check_password())
}

/// Sends the reply, unless it has been sent already.
fn send_result(
    session: &mut Session,
    result: Result<Option<Done>>,
    out: &mut dyn PacketSink,
) -> io::Result<()> {
    match result {
        Ok(Some(done)) => reply::send_ok(session, &done, out),
        Ok(None) => Ok(()),
        Err(error) => reply::fail(session, &error, out),
    }
}

/// COM_FIELD_LIST: definitions, with defaults, of a table's columns whose names are LIKE the wildcard.
fn field_list(
    session: &mut Session,
    table: &[u8],
    wildcard: &[u8],
    out: &mut dyn PacketSink,
) -> io::Result<Result<()>> {
    let columns = client_charset::decode_text(session, table).and_then(|table| {
        let wildcard = client_charset::decode_text(session, wildcard)?;
        columns_like(session, &table, &wildcard)
    });
    match columns {
        Ok(columns) => {
            reply::send_field_list(session, &columns, out)?;
            reply::send_rows_end(session, 0, out)?;
            Ok(Ok(()))
        }
        Err(error) => Ok(Err(error)),
    }
}

fn columns_like(
    session: &mut Session,
    table: &str,
    wildcard: &str,
) -> Result<Vec<planner::plan::ResultColumn>> {
    let quoted = format!("SELECT * FROM `{}`", table.replace('`', "``"));
    let compiled = compile::compile_one(session, &quoted)?;
    let Compiled::Plan(plan) = &compiled else {
        return Err(Error::internal("a SELECT without a plan"));
    };
    session.client.check_privileges(&plan.accesses)?;
    let columns = plan_columns(&plan.plan).iter();
    Ok(columns
        .filter(|c| wildcard.is_empty() || functions::like(wildcard, &c.name, Collation::DEFAULT))
        .cloned()
        .collect())
}

/// COM_QUERY: one statement, or several if the client may send several.
fn query_command(session: &mut Session, text: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
    let text: Arc<str> = match client_charset::decode_statement(session, text) {
        Ok(text) => text.into(),
        Err(error) => {
            reply::fail(session, &error, out)?;
            return Ok(Flow::Continue);
        }
    };
    session.process.begin("Query", Some(text.clone()), Instant::now());
    general_log::log_command(session, "Query", &text);
    text::run(session, &text, out)
}
