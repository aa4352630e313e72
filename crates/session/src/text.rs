//! COM_QUERY: statements as text.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use planner::CachedPlan;
use planner::command::Command;
use syntax::ast::{ServerShow, ShowStatement, Statement};
use syntax::{Normalized, Parsed};
use types::{Result, SqlMode, Value};
use wire::capability;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::compile::{self, Parameters};
use crate::compiled::Compiled;
use crate::events::observe;
use crate::execute;
use crate::hinted_variables;
use crate::recent_texts::{PlanScope, RecentText};
use crate::reply::Outcome;
use crate::session::Session;
use crate::statement::{self, load_data};
use crate::statistics::Kind;
use crate::transaction_rules;

/// Runs the statements of a COM_QUERY and sends a reply to each. Stops at the first that fails.
pub fn run(session: &mut Session, text: &Arc<str>, out: &mut dyn PacketSink) -> io::Result<Flow> {
    let started = Instant::now();
    session.statement_started = started;
    if let Some(statement) = syntax::parse_transaction_word(text) {
        session.start_deadline(None);
        session.begin_statement();
        observe::begin_word(session, text, statement.command());
        let command = Command::Transaction(statement);
        let guard = session.client.guard.as_ref();
        let result = match guard.map_or(Ok(()), |guard| guard.check_transaction_word(cluster::now_us())) {
            Ok(()) => statement::run(session, &command, Format::Text, out)?,
            Err(error) => (Kind::Other, Err(error)),
        };
        return execute::finish_statement(session, result, started, out);
    }
    match find_recent(session, text) {
        Ok(Some((mut recent, params))) => {
            session.begin_statement();
            for warning in &recent.plan.warnings {
                session.diagnostics.planning.push(warning.clone());
            }
            let (template, date_params) = (&recent.template, recent.plan.date_params.clone());
            let mut compiled = Compiled::Plan(recent.plan);
            observe::begin(session, &compiled, text, None);
            let is_shared = Cell::new(true);
            let replan = |session: &mut Session| {
                let found = compile::find_normalized(session, template)?;
                // Only of these literals it is known that they are dates.
                let found = found.filter(|plan| plan.date_params == date_params);
                is_shared.set(found.is_some());
                found.map_or_else(|| compile_alone(session, text), |plan| Ok(Compiled::Plan(plan)))
            };
            let result = execute::run_compiled(session, &mut compiled, params, Format::Text, &replan, out)?;
            if let Compiled::Plan(plan) = compiled
                && is_shared.get()
            {
                recent.plan = plan;
                session.recent_texts.put(recent);
            }
            return execute::finish_statement(session, result, started, out);
        }
        Ok(None) => {}
        Err(error) => {
            session.begin_statement();
            observe::begin_text(session, text, None);
            return execute::finish_statement(session, (Kind::Other, Err(error)), started, out);
        }
    }
    let parsed = match syntax::parse(text, &session.settings.sql_mode) {
        Ok(parsed) => parsed,
        Err(error) => {
            session.begin_statement();
            observe::begin_text(session, text, None);
            return execute::finish_statement(session, (Kind::Other, Err(error)), started, out);
        }
    };
    if parsed.len() > 1 && !session.client.has(capability::MULTI_STATEMENTS) {
        session.begin_statement();
        let error = syntax::syntax_error(text, parsed[1].text.start);
        return execute::finish_statement(session, (Kind::Other, Err(error)), started, out);
    }
    run_statements(session, text, &parsed, out)
}

/// Compiles a text with its literals, whose shared plan does not fit the definitions any more: a column has become a date,
/// or is gone, which is an error that quotes the text.
fn compile_alone(session: &mut Session, text: &str) -> Result<Compiled> {
    session.diagnostics.planning.take();
    compile::compile_one(session, text)
}

/// Finds template, plan and literals of a text whose plan is shared by all texts that differ only in
/// literals. `None`: the text must be parsed.
fn find_recent(session: &mut Session, text: &str) -> Result<Option<(Box<RecentText>, Vec<Value>)>> {
    // Only the planner can restore the bytes that the client sent in `_binary'...'`.
    if !session.settings.charset_client.is_utf8()
        && !text.is_ascii()
        && text.to_ascii_lowercase().contains("_binary")
    {
        return Ok(None);
    }
    let mode = &session.settings.sql_mode;
    let scope = PlanScope {
        database: session.database.clone(),
        environment: session.settings.plan_environment,
    };
    if let Some((mut recent, params)) = session.recent_texts.take(text, mode, &scope) {
        if !compile::is_current(session, &recent.plan) {
            let Some(plan) = compile::find_normalized(session, &recent.template)? else {
                return Ok(None);
            };
            recent.plan = plan;
        }
        if !holds_dates(&recent.plan, &params, &session.settings.sql_mode) {
            session.recent_texts.put(recent);
            return Ok(None);
        }
        return Ok(Some((recent, params)));
    }
    let collation = session.settings.collation_connection;
    let Some(Normalized { template, params }) = syntax::normalize(text, mode, collation) else {
        return Ok(None);
    };
    let found = compile::find_normalized(session, &template)?;
    let found = found.filter(|plan| holds_dates(plan, &params, mode));
    Ok(found.map(|plan| {
        let recent = RecentText {
            template,
            plan,
            scope,
        };
        (Box::new(recent), params)
    }))
}

/// Whether the literals that a plan takes for dates are dates.
fn holds_dates(plan: &CachedPlan, params: &[Value], mode: &SqlMode) -> bool {
    let is_date = |at: &usize| match params.get(*at) {
        Some(Value::String(text)) => functions::is_date_constant(text, mode),
        _ => true,
    };
    plan.date_params.iter().all(is_date)
}

/// Runs several statements, which no client has sent.
pub fn run_all(session: &mut Session, text: &Arc<str>, out: &mut dyn PacketSink) -> io::Result<Flow> {
    match syntax::parse(text, &session.settings.sql_mode) {
        Ok(parsed) => run_statements(session, text, &parsed, out),
        Err(error) => {
            session.begin_statement();
            observe::begin_text(session, text, None);
            execute::finish_statement(session, (Kind::Other, Err(error)), Instant::now(), out)
        }
    }
}

fn run_statements(
    session: &mut Session,
    text: &Arc<str>,
    parsed: &[Parsed],
    out: &mut dyn PacketSink,
) -> io::Result<Flow> {
    for (position, statement) in parsed.iter().enumerate() {
        let started = Instant::now();
        session.statement_started = started;
        session.more_results = position + 1 < parsed.len();
        let result = run_statement(session, text, statement, out)?;
        let failed = result.1.is_err();
        if failed {
            session.more_results = false;
        }
        let flow = execute::finish_statement(session, result, started, out)?;
        if failed || flow == Flow::Close {
            return Ok(flow);
        }
    }
    Ok(Flow::Continue)
}

fn run_statement(
    session: &mut Session,
    text: &Arc<str>,
    parsed: &Parsed,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    // The deadline of the previous statement does not apply any more.
    session.start_deadline(None);
    if !reads_diagnostics(&parsed.statement) {
        session.begin_statement();
    }
    observe::begin_text(session, &text[parsed.text.clone()], parsed.statement.command());
    if parsed.parameters > 0 {
        return Ok((Kind::Other, Err(syntax::syntax_error_at_parameter(text, parsed))));
    }
    hinted_variables::run_with(session, &parsed.set_vars, |session| {
        run_parsed(session, parsed, out)
    })
}

fn run_parsed(
    session: &mut Session,
    parsed: &Parsed,
    out: &mut dyn PacketSink,
) -> io::Result<(Kind, Result<Outcome>)> {
    let entered = transaction_rules::enter_statement(session, &parsed.statement);
    let compiled = entered
        .and_then(|()| load_data::check_local(session, &parsed.statement))
        .and_then(|()| compile::compile(session, parsed, Parameters::Untyped(None)));
    let mut compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => return Ok((Kind::Other, Err(error))),
    };
    let replan = |session: &mut Session| compile::compile(session, parsed, Parameters::Untyped(None));
    execute::run_compiled(session, &mut compiled, Vec::new(), Format::Text, &replan, out)
}

/// SHOW WARNINGS, SHOW COUNT(*) WARNINGS and GET DIAGNOSTICS read the diagnostics area and do not change it.
fn reads_diagnostics(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::GetDiagnostics(_)
            | Statement::Show(ShowStatement::OfServer(
                ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. }
            ))
    )
}
