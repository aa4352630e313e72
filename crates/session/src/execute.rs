//! Runs a compiled statement: a query ([`crate::query`]), a write, a definition or a command
//! ([`crate::statement`]). A statement that failed because of a conflict is run a second time, after all
//! effects of its first run were undone.

use std::cell::Cell;
use std::io;
use std::time::Instant;

use functions::{ByPlace, Strictness};
use planner::CachedPlan;
use planner::command::Command;
use planner::plan::{InsertMode, Plan};
use runner::{Evaluation, Retry};
use syntax::ast::SqlCommand;
use types::{Error, Result, SqlType, Value, errno};
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::attachment;
use crate::commit::Committer;
use crate::compile;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::diagnostics::DiagnosticsMark;
use crate::events::event::RowChanges;
use crate::events::observe;
use crate::hinted_variables;
use crate::lock::{self, Replans};
use crate::prepared::parameter_types::{self, Protocol, convert_row_counts};
use crate::prepared::prepare;
use crate::profiles::stage;
use crate::query;
use crate::reply::{self, Done, Outcome};
use crate::session::Session;
use crate::statement::{self, named};
use crate::statistics::Kind;
use crate::transaction_rules;
use crate::virtual_tables::ServerTables;
use crate::write_reply;

/// A statement's first run, and the state of the session before it.
struct FirstRun {
    retry: Retry,
    diagnostics: DiagnosticsMark,
    /// The values of LAST_INSERT_ID() and of `SET insert_id`.
    ids: (u64, u64),
    side_effects: (u64, u64),
}

/// Runs a compiled statement. `replan` compiles it again if the schema changes between plan and metadata
/// lock.
///
/// # Errors
/// The client is gone.
pub fn run_compiled(
    session: &mut Session,
    compiled: &mut Compiled,
    mut params: Vec<Value>,
    format: Format,
    replan: &dyn Fn(&mut Session) -> Result<Compiled>,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    if let Some(guard) = &session.client.guard
        && let Err(error) = guard.check(compiled, cluster::now_us())
    {
        return Ok((Kind::Other, Err(error)));
    }
    session.start_deadline(compiled.plan());
    let mut first_run = None;
    while let Compiled::Plan(plan) = &*compiled {
        let kind = Kind::of_plan(&plan.plan);
        session.in_stage(stage::SYSTEM_LOCK);
        if let Err(error) = lock::lock_current(session, compiled, replan) {
            return Ok((kind, Err(error)));
        }
        let Compiled::Plan(plan) = &*compiled else { break };
        session.in_stage(kind.stage());
        session.event.traits = plan.traits;
        session.event.tables = plan.accesses.len() as u32;
        let first_run = first_run.get_or_insert_with(|| before_first_run(session, &plan.plan));
        let result = match &plan.plan {
            Plan::Query(query) => match query::run_point(session, (plan, query), &mut params, format, out)? {
                Some(result) => result,
                None => {
                    // It cannot run a second time, because rows may have been sent.
                    *first_run = None;
                    query::run_query(session, (plan, query), &mut params, format, out)?
                }
            },
            write => {
                let waits = first_run
                    .as_ref()
                    .is_some_and(|run| run.retry.defers_duplicates());
                run_write(session, (kind, plan, write), &mut params, waits, out).map(Outcome::Ok)
            }
        };
        match result {
            Err(error) if runs_again(session, first_run, &error) => {}
            Err(error) => {
                let schema = session.shared.engine.cluster.schema();
                let error = session
                    .client
                    .without_foreign_table(error, &plan.accesses, &schema);
                return Ok((kind, Err(error)));
            }
            done => return Ok((kind, done)),
        }
    }
    session.diagnostics.collect_planning(session.settings.warnings);
    run_command(session, compiled, &params, format, replan, out)
}

/// Runs a definition or a command. If the schema changes before a query in it gets its locks, nothing has been done yet,
/// and the whole statement is planned again.
fn run_command(
    session: &mut Session,
    compiled: &mut Compiled,
    params: &[Value],
    format: Format,
    replan: &dyn Fn(&mut Session) -> Result<Compiled>,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    session.in_stage(stage_of(session.event.name.command()));
    let mut replans = Replans::default();
    loop {
        let done = match &*compiled {
            Compiled::Plan(_) => {
                let error = Error::internal("a statement without a plan has got one");
                return Ok((Kind::Other, Err(error)));
            }
            Compiled::Ddl(ddl) => {
                let done = statement::run_definition(session, ddl);
                (Kind::Definition, done.map(Outcome::Ok))
            }
            Compiled::Command(command) => {
                if let Command::Execute { name, using } = &**command {
                    return run_named(session, name, using, out);
                }
                session.command_params.extend_from_slice(params);
                statement::run(session, command, format, out)?
            }
        };
        // A client may signal an error of any number.
        let is_signalled = session.diagnostics.signalled.is_some();
        match done {
            (_, Err(error)) if error.code == errno::ER_SCHEMA_CHANGED && !is_signalled => {}
            done => return Ok(done),
        }
        match replans.next(session).and_then(|()| replan(session)) {
            Ok(again) => *compiled = again,
            Err(error) => return Ok((Kind::Other, Err(error))),
        }
    }
}

/// Runs INSERT, REPLACE, UPDATE or DELETE. Takes the parameters, and gives them back. `waits`: wait for the
/// commit, so that the reply is not left pending.
fn run_write(
    session: &mut Session,
    (kind, cached, plan): (Kind, &CachedPlan, &Plan),
    params: &mut Vec<Value>,
    waits: bool,
    out: &mut dyn PacketSink,
) -> Result<Done> {
    let strictness = match session.settings.sql_mode.strict {
        _ if ignores_errors(plan) => Strictness::Ignore,
        true => Strictness::Error,
        false => Strictness::Warn,
    };
    let eval = session.eval_context(std::mem::take(params), strictness);
    let events = &session.shared.events;
    let attached = attachment::write_of(cached, events).filter(|_| events.is_on());
    let by_place = attached.map_or(ByPlace::Not, |attached| attached.reads.by_place());
    eval.reads.set_by_place(by_place);
    let (started, event) = (session.statement_started, session.event);
    session.transaction.set_defers_duplicates(waits);
    let mut parts = session.parts();
    let with = Evaluation {
        context: &eval,
        tables: &ServerTables { view: parts.view },
        file: None,
    };
    let mut deferral = parts.deferral;
    // The session writes the slow log, so it has to wait for the commit.
    deferral.is_allowed &= !waits && !parts.view.shared.events.slow_log.is_on();
    let changes = Cell::new(RowChanges::default());
    let committer = Committer {
        view: parts.view,
        kind,
        started,
        event,
        written: Some((&eval.reads, &changes)),
        out,
        deferral,
    };
    let result = parts.runner.statement_then(
        |runner| {
            let result = runner.write(plan, with)?;
            changes.set(RowChanges::of(plan, &result));
            Ok(result)
        },
        |runner| committer.commit(runner),
    );
    session.transaction.set_defers_duplicates(false);
    session.event.reads = eval.reads.take();
    if let Some(attached) = attached {
        let events = &session.shared.events;
        let by_place = events.table_io.record(&eval.reads);
        let rest = session.event.reads.examined().saturating_sub(by_place);
        attached.reads.count(events, rest);
        attached.count(&changes.get());
    }
    session.end_of_evaluation(&eval);
    *params = session.contexts.give_back(eval);
    let result = result?;
    session.event.changes = changes.get();
    Ok(write_reply::write_done(session, plan, &result))
}

/// `None`: the statement does not run a second time.
fn before_first_run(session: &mut Session, plan: &Plan) -> Option<FirstRun> {
    let retry = Retry::new(&session.runner(), plan)?;
    Some(FirstRun {
        retry,
        diagnostics: session.diagnostics.mark(),
        ids: (session.last.insert_id, session.last.forced_id),
        side_effects: side_effects(session),
    })
}

/// Whether a statement that failed must be run again. If so, resets the session to the state before the first
/// run.
fn runs_again(session: &mut Session, first_run: &mut Option<FirstRun>, error: &Error) -> bool {
    let Some(first) = first_run else { return false };
    if first.side_effects != side_effects(session) {
        return false;
    }
    let started = session.statement_started;
    let again = first.retry.runs_again(&mut session.runner(), error, started);
    if again {
        session.diagnostics.return_to(first.diagnostics);
        (session.last.insert_id, session.last.forced_id) = first.ids;
    }
    again
}

/// A value that changes if functions have had effects that cannot be undone.
fn side_effects(session: &Session) -> (u64, u64) {
    (session.user_variables.assignments(), session.user_locks.uses())
}

/// Sends the reply, counts, and sets what ROW_COUNT() gives.
pub fn finish_statement(
    session: &mut Session,
    (kind, result): (Kind, Result<Outcome>),
    started: Instant,
    out: &mut dyn PacketSink,
) -> io::Result<Flow> {
    observe::end(session, kind, started, result.is_err());
    // SIGNAL of a deadlock's number is no deadlock.
    if let Err(error) = &result
        && session.diagnostics.signalled.is_none()
    {
        session.runner().end_of_failure(error);
    }
    match result {
        Ok(Outcome::Sent) => reply::rows_sent(session),
        Ok(Outcome::Ok(done)) => {
            session.last.note_affected(done.affected);
            reply::send_ok(session, &done, out)?;
        }
        Ok(Outcome::Aside { adds }) => {
            session.hide_warning_count = !adds;
            let sent = reply::send_ok(session, &Done::default(), out);
            session.hide_warning_count = false;
            sent?;
        }
        Ok(Outcome::Close(done)) => {
            reply::send_ok(session, &done, out)?;
            return Ok(Flow::Close);
        }
        Err(error) => reply::fail(session, &error, out)?,
    }
    Ok(Flow::Continue)
}

/// Whether the statement has IGNORE: errors of single values and rows become warnings.
fn ignores_errors(plan: &Plan) -> bool {
    match plan {
        Plan::Insert(insert) => insert.ignore,
        Plan::Update(update) => update.ignore,
        Plan::Delete(delete) => delete.ignore,
        Plan::FoundWrite(write) => write.ignore,
        Plan::Query(_) => false,
    }
}

/// EXECUTE name USING @a, @b
fn run_named(
    session: &mut Session,
    name: &str,
    using: &[String],
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    let Some(mut statement) = session.named.get(name).cloned() else {
        return Ok((Kind::Other, Err(named::unknown_name(name, "EXECUTE"))));
    };
    if statement.parsed.parameters != using.len() {
        let error = Error::new(errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to EXECUTE");
        return Ok((Kind::Other, Err(error)));
    }
    // EXECUTE is counted, and also the statement that it executes.
    let counters = &session.process.counters;
    counters.add(StatusCounter::StmtExecute, 1);
    if let Some(command) = statement.parsed.statement.command() {
        counters.count_beside(command);
    }
    let value = |name: &String| session.user_variables.get(name).cloned().unwrap_or(Value::Null);
    let mut values: Vec<Value> = using.iter().map(value).collect();
    let collation = session.settings.collation_connection;
    let mut types: Vec<SqlType> = values
        .iter()
        .map(|v| functions::bind::type_of_value(v, collation))
        .collect();
    let row_counts = &statement.row_counts;
    if let Err(error) = convert_row_counts(row_counts, Protocol::Sql, &mut values, &mut types) {
        return Ok((Kind::Other, Err(error)));
    }
    let expected = &statement.parameter_types;
    if !parameter_types::keep(expected, &values, &mut types)
        && !prepare::convert_parameters(session, expected, &mut values, &mut types)
    {
        statement.take_types(&types);
        if let Some(named) = session.named.get_mut(name) {
            *named = statement.clone();
        }
    }
    let compile = |session: &mut Session, values: &[Value]| {
        compile::compile_prepared(session, &statement, &types, values)
    };
    let replan = |session: &mut Session| compile(session, &[]);
    session.in_database(statement.database.clone(), |session| {
        hinted_variables::run_with(session, &statement.parsed.set_vars, |session| {
            let compiled = match transaction_rules::enter_statement(session, &statement.parsed.statement) {
                Ok(()) => compile(session, &values),
                Err(error) => Err(error),
            };
            match compiled {
                Ok(mut compiled) => run_compiled(session, &mut compiled, values, Format::Text, &replan, out),
                Err(error) => Ok((Kind::Other, Err(error))),
            }
        })
    })
}

/// The stage in which a definition or a command runs.
fn stage_of(command: Option<SqlCommand>) -> &'static str {
    match command {
        Some(SqlCommand::CreateTable) => "creating table",
        Some(SqlCommand::AlterTable | SqlCommand::CreateIndex | SqlCommand::DropIndex) => "altering table",
        _ => stage::EXECUTING,
    }
}

impl Kind {
    /// The stage in which a statement of this kind runs.
    fn stage(self) -> &'static str {
        match self {
            Kind::Insert | Kind::Replace => stage::UPDATE,
            Kind::Update | Kind::Delete => stage::UPDATING,
            _ => stage::EXECUTING,
        }
    }

    pub fn of_plan(plan: &Plan) -> Self {
        match plan {
            Plan::Query(_) => Kind::Select,
            Plan::Insert(insert) if matches!(insert.mode, InsertMode::Replace) => Kind::Replace,
            Plan::Insert(_) => Kind::Insert,
            Plan::Update(_) => Kind::Update,
            Plan::Delete(_) => Kind::Delete,
            Plan::FoundWrite(write) if write.is_update => Kind::Update,
            Plan::FoundWrite(_) => Kind::Delete,
        }
    }
}
