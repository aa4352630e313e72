//! A plan within another statement: for the rows of CREATE TABLE ... SELECT, of a checksum, of INTO OUTFILE.

use std::sync::Arc;

use executor::{LoadedFile, RowSink};
use functions::{ByPlace, EvalContext, RowPlace, Strictness};
use optimizer::Planned;
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan};
use runner::Evaluation;
use types::{Error, Result};

use crate::compiled::Compiled;
use crate::events::event::RowChanges;
use crate::lock::{self, schema_has_changed};
use crate::query;
use crate::reply::Done;
use crate::session::Session;
use crate::virtual_tables::ServerTables;
use crate::write_reply;

/// Checks the privileges that a plan needs and locks its tables.
///
/// # Errors
/// [`ER_SCHEMA_CHANGED`](types::errno::ER_SCHEMA_CHANGED) if the schema has changed since. Then the whole
/// statement is planned again.
pub fn lock(session: &mut Session, planned: Planned, schema_version: u64) -> Result<Arc<CachedPlan>> {
    let Planned::Plan(planned) = planned else {
        return Err(Error::internal("an inner statement without a plan"));
    };
    let plan = CachedPlan::new(planned.plan, planned.accesses, schema_version, 0, false);
    lock_compiled(session, Compiled::Plan(Arc::new(plan)))
}

/// [`lock()`] for a compiled plan.
pub fn lock_compiled(session: &mut Session, mut compiled: Compiled) -> Result<Arc<CachedPlan>> {
    lock::lock_current(session, &mut compiled, &|_| Err(schema_has_changed()))?;
    match compiled {
        Compiled::Plan(plan) => Ok(plan),
        _ => Err(Error::internal("an inner statement without a plan")),
    }
}

/// The query that a plan is.
pub fn query_of(plan: &CachedPlan) -> Result<&QueryPlan> {
    match &plan.plan {
        Plan::Query(query) => Ok(query),
        _ => Err(Error::internal("an inner query is a write")),
    }
}

/// Runs a query with the parameters of the statement.
pub fn query(session: &mut Session, query: &QueryPlan, rows: &mut dyn RowSink) -> Result<()> {
    let eval = session.command_context(Strictness::Warn);
    eval.reads.set_by_place(by_place(session));
    let result = query::run(session, query, &eval, rows).map(drop);
    count_reads(session, &eval);
    result
}

fn by_place(session: &Session) -> ByPlace {
    match session.shared.events.is_on() {
        true => ByPlace::All,
        false => ByPlace::Not,
    }
}

/// Counts what an inner plan has read.
fn count_reads(session: &mut Session, eval: &EvalContext) {
    session.event.reads.add(eval.reads.take());
    if session.shared.events.is_on() {
        session.shared.events.table_io.record(&eval.reads);
    }
}

/// Runs a write.
pub fn write(session: &mut Session, plan: &Plan, strict: bool) -> Result<Done> {
    run_write(session, plan, strict, None)
}

/// Runs a write of the rows of a file.
pub fn write_file(session: &mut Session, plan: &Plan, strict: bool, file: &dyn LoadedFile) -> Result<Done> {
    run_write(session, plan, strict, Some(file))
}

fn run_write(
    session: &mut Session,
    plan: &Plan,
    strict: bool,
    file: Option<&dyn LoadedFile>,
) -> Result<Done> {
    let strictness = match plan {
        Plan::Insert(insert) if insert.ignore => Strictness::Ignore,
        _ if strict => Strictness::Error,
        _ => Strictness::Warn,
    };
    let eval = session.command_context(strictness);
    eval.reads.set_by_place(by_place(session));
    let parts = session.parts();
    let mut runner = parts.runner;
    let with = Evaluation {
        context: &eval,
        tables: &ServerTables { view: parts.view },
        file,
    };
    let result = runner.statement(|runner| runner.write(plan, with));
    count_reads(session, &eval);
    session.end_of_evaluation(&eval);
    let result = result?;
    session.event.changes = RowChanges::of(plan, &result);
    let events = &session.shared.events;
    if let Plan::Insert(insert) = plan
        && events.is_on()
    {
        let place = RowPlace {
            table: insert.table.id,
            index: None,
        };
        events.table_io.of(place).changed(&session.event.changes);
    }
    Ok(write_reply::write_done(session, plan, &result))
}
