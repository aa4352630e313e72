//! COM_STMT_EXECUTE, and COM_STMT_FETCH from the cursor that it may open.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use functions::Strictness;
use memory::Account;
use planner::command::Command;
use planner::plan::Plan;
use runner::Collected;
use syntax::Parsed;
use syntax::ast::TransactionStatement;
use types::{Error, Result, SqlType, Value};
use wire::capability;
use wire::command::{ParameterContext, StmtExecute};
use wire::connection::PacketSink;
use wire::row::Format;
use wire::status;

use super::cursor::Cursor;
use super::parameter_types::{self, Protocol};
use super::{LastPlan, Statement};
use crate::attachment::columns_of;
use crate::compile;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::events::event_name::ProtocolCommand;
use crate::events::general_log;
use crate::events::observe;
use crate::execute;
use crate::hinted_variables;
use crate::lock;
use crate::prepared::prepare;
use crate::query;
use crate::reply::{self, Done, Outcome};
use crate::session::Session;
use crate::statistics::Kind;
use crate::transaction_rules;

const EXECUTE: &str = "mysqld_stmt_execute";

/// The input of one execution of a prepared statement.
struct Execution {
    text: Arc<str>,
    /// The database that it runs in, where that is not the selected one.
    database: Option<Option<Arc<str>>>,
    values: Vec<Value>,
    types: Vec<SqlType>,
    /// The plan of the previous execution, if that had the same types and environment. It is moved out of the
    /// prepared statement while it runs, because a second reference would change a count in a cache line that
    /// all connections share.
    plan: Option<Compiled>,
    cursor: bool,
    /// The statement, if its hints set variables.
    hinted: Option<Arc<Parsed>>,
    /// The memory of parameters that were sent ahead.
    _memory: Option<Account>,
}

/// COM_STMT_EXECUTE.
pub fn run(
    session: &mut Session,
    execute: &StmtExecute,
    out: &mut dyn PacketSink,
) -> io::Result<Result<Option<Done>>> {
    let started = Instant::now();
    session.statement_started = started;
    session.begin_statement();
    session.process.counters.add(StatusCounter::StmtExecute, 1);
    let context = ParameterContext {
        capabilities: session.client.info.capabilities,
        client: session.settings.charset_client,
        collation: session.settings.collation_connection,
    };
    let mut execution = match read_execution(session, execute, &context) {
        Ok(execution) => execution,
        Err(error) => {
            session.event.name = ProtocolCommand::Execute.into();
            observe::end(session, Kind::Other, started, true);
            return Ok(Err(error));
        }
    };
    general_log::log_execution(session, &execution.text, &execution.values, &execution.types);
    let id = execute.statement_id;
    let (kind, result) = match (execution.database.take(), execution.hinted.take()) {
        (None, None) => run_execution(session, id, execution, out),
        (database, hinted) => {
            let database = database.unwrap_or_else(|| session.database.clone());
            session.in_database(database, |session| match hinted {
                None => run_execution(session, id, execution, out),
                Some(parsed) => hinted_variables::run_with(session, &parsed.set_vars, |session| {
                    run_execution(session, id, execution, out)
                }),
            })
        }
    }?;
    observe::end(session, kind, started, result.is_err());
    Ok(executed(session, result))
}

fn run_execution(
    session: &mut Session,
    id: u32,
    execution: Execution,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    let Execution {
        text,
        values,
        types,
        plan,
        cursor,
        ..
    } = execution;
    session
        .process
        .begin("Execute", Some(text), session.statement_started);
    let environment = session.settings.plan_environment;
    let compiled = match plan {
        Some(Compiled::Plan(plan)) if !compile::is_current(session, &plan) => {
            compile_execution(session, id, &types, &values)
        }
        Some(plan) => Ok(plan),
        None => enter_execution(session, id).and_then(|()| compile_execution(session, id, &types, &values)),
    };
    let mut compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => return Ok((Kind::Other, Err(error))),
    };
    if !observe::begin_again(session, &compiled)
        && let Ok(prepared) = session.prepared.find(id, EXECUTE)
    {
        let Statement { text, parsed, .. } = prepared.statement.clone();
        observe::begin(session, &compiled, &text, parsed.statement.command());
    }
    let replan = |session: &mut Session| compile_execution(session, id, &types, &[]);
    let result = if cursor
        && let Compiled::Plan(plan) = &compiled
        && matches!(plan.plan, Plan::Query(_))
    {
        let opened = open_cursor(session, id, &mut compiled, values, &replan, out)?;
        (Kind::Select, opened.map(|()| Outcome::Sent))
    } else {
        execute::run_compiled(session, &mut compiled, values, Format::Binary, &replan, out)?
    };
    if is_reusable(&compiled)
        && let Ok(prepared) = session.prepared.get(id, EXECUTE)
    {
        prepared.plan = Some(LastPlan {
            compiled,
            types,
            environment,
        });
    }
    Ok(result)
}

/// Checks the transaction before an execution is compiled. An execution that has a plan already is not a
/// definition.
fn enter_execution(session: &mut Session, id: u32) -> Result<()> {
    let parsed = session.prepared.get(id, EXECUTE)?.statement.parsed.clone();
    transaction_rules::enter_statement(session, &parsed.statement)
}

/// The plan for parameters of these types, from the plan cache if possible.
fn compile_execution(
    session: &mut Session,
    id: u32,
    types: &[SqlType],
    values: &[Value],
) -> Result<Compiled> {
    let statement = &session.prepared.find(id, EXECUTE)?.statement;
    compile::compile_prepared(session, statement, types, values)
}

fn executed(session: &mut Session, result: Result<Outcome>) -> Result<Option<Done>> {
    if let Err(error) = &result {
        session.runner().end_of_failure(error);
    }
    Ok(match result? {
        Outcome::Sent => {
            reply::rows_sent(session);
            None
        }
        Outcome::Aside { .. } => Some(Done::default()),
        Outcome::Ok(done) | Outcome::Close(done) => {
            session.last.note_affected(done.affected);
            Some(done)
        }
    })
}

fn read_execution(
    session: &mut Session,
    execute: &StmtExecute,
    context: &ParameterContext,
) -> Result<Execution> {
    let id = execute.statement_id;
    let mut prepared = session.prepared.get(id, EXECUTE)?;
    prepared.cursor = None;
    prepared.sent_ahead.check()?;
    let sent_ahead = &mut prepared.sent_ahead.values;
    let mut bound = execute.parameters(
        prepared.statement.parameters,
        &mut prepared.bound,
        sent_ahead,
        context,
    )?;
    let mut hinted = None;
    if !prepared.statement.is_plain {
        let (values, types) = (&mut bound.values, &mut bound.types);
        let row_counts = &prepared.statement.row_counts;
        parameter_types::convert_row_counts(row_counts, Protocol::Binary, values, types)?;
        if !parameter_types::keep(&prepared.statement.parameter_types, values, types) {
            let expected = prepared.statement.parameter_types.clone();
            let all_fit = prepare::convert_parameters(session, &expected, values, types);
            prepared = session.prepared.get(id, EXECUTE)?;
            if !all_fit {
                prepared.statement.take_types(types);
                prepared.plan = None;
            }
        }
        let parsed = &prepared.statement.parsed;
        hinted = (!parsed.set_vars.is_empty()).then(|| parsed.clone());
    }
    let environment = session.settings.plan_environment;
    let cursor = execute.wants_cursor()?;
    let plan = prepared.plan.take();
    // Hints may change the environment.
    let is_same = |last: &LastPlan| last.environment == environment && last.types == bound.types;
    let plan = plan.filter(|last| is_same(last) && hinted.is_none());
    let statement = &prepared.statement;
    Ok(Execution {
        plan: plan.map(|last| last.compiled),
        text: statement.text.clone(),
        database: (statement.database != session.database).then(|| statement.database.clone()),
        hinted,
        values: bound.values,
        types: bound.types,
        cursor,
        _memory: prepared.sent_ahead.take_memory(),
    })
}

/// Runs a query whose rows the client will fetch, and sends the columns.
fn open_cursor(
    session: &mut Session,
    id: u32,
    compiled: &mut Compiled,
    params: Vec<Value>,
    replan: &dyn Fn(&mut Session) -> Result<Compiled>,
    out: &mut dyn PacketSink,
) -> io::Result<Result<()>> {
    session.start_deadline(compiled.plan());
    if let Err(error) = lock::lock_current(session, compiled, replan) {
        return Ok(Err(error));
    }
    let Compiled::Plan(plan) = compiled else {
        return Ok(Err(Error::internal("the statement of a cursor is not a query")));
    };
    let Plan::Query(query) = &plan.plan else {
        return Ok(Err(Error::internal("the statement of a cursor is not a query")));
    };
    let (memory, bytes_max) = (
        session.shared.engine.memory,
        session.settings.run.memory_limit_bytes,
    );
    let mut rows = Collected::limited(memory, bytes_max);
    let eval = session.eval_context(params, Strictness::Warn);
    let run = query::run(session, query, &eval, &mut rows);
    let counted = match run {
        Ok(counted) => counted,
        Err(error) => return Ok(Err(error)),
    };
    session.last.found_rows = counted.unwrap_or(rows.rows as u64);
    let reply = reply::context(session);
    reply.send_columns(columns_of(plan, query, &reply), status::CURSOR_EXISTS, out)?;
    if session.client.has(capability::DEPRECATE_EOF) {
        // Only the packet after the definitions can announce a cursor.
        reply::send_rows_end(session, status::CURSOR_EXISTS, out)?;
    }
    if let Ok(prepared) = session.prepared.get(id, EXECUTE) {
        prepared.cursor = Some(Cursor::new(query.columns.clone(), rows));
    }
    Ok(Ok(()))
}

/// COM_STMT_FETCH: the next rows of a cursor.
pub fn fetch(session: &mut Session, id: u32, count: u32, out: &mut dyn PacketSink) -> io::Result<Result<()>> {
    const FETCH: &str = "mysqld_stmt_fetch";
    let mut cursor = match session
        .prepared
        .get(id, FETCH)
        .map(|prepared| prepared.cursor.take())
    {
        Ok(Some(cursor)) => cursor,
        Ok(None) => {
            let message = format!("The statement ({id}) has no open cursor.");
            return Ok(Err(Error::new(1421, message)));
        }
        Err(error) => return Ok(Err(error)),
    };
    let encoder = reply::context(session).row_encoder(&cursor.columns, Format::Binary);
    let mut left = count;
    while left > 0 {
        let Some((batch, first)) = cursor.take_current() else {
            break;
        };
        let last = batch.num_rows().min(first + left as usize);
        let rows = match encoder.batch(&batch) {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        for row in first..last {
            out.send_with(&mut |packet| rows.encode(row, packet))?;
        }
        left -= (last - first) as u32;
        cursor.put_current(batch, last);
    }
    let more = cursor.has_more();
    let flags = status::CURSOR_EXISTS | if more { 0 } else { status::LAST_ROW_SENT };
    reply::send_rows_end(session, flags, out)?;
    if more && let Ok(prepared) = session.prepared.get(id, FETCH) {
        prepared.cursor = Some(cursor);
    }
    Ok(Ok(()))
}

/// Whether the next execution of the statement may reuse this.
fn is_reusable(compiled: &Compiled) -> bool {
    match compiled {
        Compiled::Plan(plan) => plan.cacheable,
        // These commands do not refer to anything that could change before.
        Compiled::Command(command) => {
            matches!(
                **command,
                Command::Transaction(TransactionStatement::Commit(_) | TransactionStatement::Rollback(_))
            )
        }
        Compiled::Ddl(_) => false,
    }
}
