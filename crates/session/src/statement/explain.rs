//! EXPLAIN and EXPLAIN ANALYZE.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use executor::RowSink;
use optimizer::{Planned, PlannedStatement};
use planner::CachedPlan;
use planner::command::{Command, Explained};
use planner::object_access::{LockMode, ObjectAccess};
use planner::plan::{InsertSource, Plan, QueryPlan, Rel, measured};
use runner::joins_transaction;
use schema::privilege::Privilege;
use syntax::ast::ExplainFormat;
use types::{Error, Result, Value, errno};

use super::inner_plan;
use crate::compile;
use crate::compiled::Compiled;
use crate::errors;
use crate::listing::Listing;
use crate::session::Session;
use crate::transaction_rules;

pub fn explain(session: &mut Session, explained: &Explained) -> Result<Listing> {
    if explained.analyze {
        return analyze(session, explained);
    }
    let planned = planned(session, explained)?;
    let listing = listing_of(session, explained, &planned)?;
    let writes_stored = |access: &ObjectAccess| access.lock == Some(LockMode::Write);
    if !matches!(planned.plan, Plan::Query(_)) && planned.accesses.iter().any(writes_stored) {
        session.check_writable()?;
    }
    let looks_at_tables = match &planned.plan {
        Plan::Query(query) => joins_transaction(query),
        _ => true,
    };
    if looks_at_tables {
        transaction_rules::join_transaction(session, false)?;
    }
    Ok(listing)
}

/// EXPLAIN FOR CONNECTION: the plan that the running statement of a connection would get now. Empty for an
/// idle connection.
///
/// # Errors
/// 1094 for a connection that does not exist, 1045 for one of another account, 3012 for a statement without a
/// plan.
pub fn of_connection(
    session: &mut Session,
    format: Option<ExplainFormat>,
    connection: u64,
) -> Result<Listing> {
    const ER_EXPLAIN_NOT_SUPPORTED: u16 = 3012;
    let unsupported = || {
        Error::new(
            ER_EXPLAIN_NOT_SUPPORTED,
            "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE",
        )
    };
    let process = session.shared.processes.find(connection);
    let process = process.ok_or_else(|| errors::unknown_thread(connection))?;
    let activity = process.activity();
    if !session.client.may_see_connections_of(&activity.user) {
        session.client.check_everywhere(Privilege::Process.into())?;
    }
    let Some(statement) = activity.statement.filter(|_| connection != session.process.id) else {
        return match connection == session.process.id {
            true => Err(unsupported()),
            false => Ok(Listing::default()),
        };
    };
    let format = match format.unwrap_or(session.settings.explain_format) {
        ExplainFormat::Traditional => "TRADITIONAL",
        ExplainFormat::Tree => "TREE",
        ExplainFormat::Json => "JSON",
    };
    let own = std::mem::replace(&mut session.database, activity.database);
    let explained = compile::compile_one(session, &format!("EXPLAIN FORMAT={format} {statement}"));
    let listing = match explained {
        Ok(Compiled::Command(command)) => match &*command {
            Command::Explain(explained) => explain(session, explained),
            _ => Err(unsupported()),
        },
        Ok(_) => Err(unsupported()),
        Err(error) if error.code == errno::ER_PARSE_ERROR => Err(unsupported()),
        Err(error) => Err(error),
    };
    session.database = own;
    listing
}

/// The plan, without a transaction. For EXPLAIN ANALYZE only the columns are used.
///
/// # Errors
/// 1142 without the privileges for the tables.
pub fn listing(session: &Session, explained: &Explained) -> Result<Listing> {
    listing_of(session, explained, &planned(session, explained)?)
}

fn planned(session: &Session, explained: &Explained) -> Result<PlannedStatement> {
    match compile::optimized(session, explained.bound.clone(), false)? {
        Planned::Plan(planned) => Ok(planned),
        _ => Err(Error::internal("EXPLAIN of a statement without a plan")),
    }
}

fn listing_of(session: &Session, explained: &Explained, planned: &PlannedStatement) -> Result<Listing> {
    session.client.check_privileges(&planned.accesses)?;
    session.client.check_explains(&planned.accesses)?;
    let format = match explained.format {
        Some(format) => format,
        None if explained.analyze => ExplainFormat::Tree,
        None => session.settings.explain_format,
    };
    let (columns, rows) = optimizer::explain::explain(planned, format);
    Ok(Listing {
        columns,
        rows,
        pending_filter: None,
    })
}

/// Runs a query, discards its rows, and shows the measurements.
fn analyze(session: &mut Session, explained: &Explained) -> Result<Listing> {
    check_format(session, explained)?;
    let planned = planned(session, explained)?;
    session.client.check_privileges(&planned.accesses)?;
    session.client.check_explains(&planned.accesses)?;
    let writes_stored = |access: &ObjectAccess| access.lock == Some(LockMode::Write);
    if !matches!(planned.plan, Plan::Query(_)) && planned.accesses.iter().any(writes_stored) {
        session.check_writable()?;
    }
    let Some(plan) = measured_plan(planned.plan) else {
        let mut listing = Listing::texts(&["EXPLAIN"]);
        listing.push(vec![Value::String(
            "<not executable by iterator executor>\n".to_owned(),
        )]);
        return Ok(listing);
    };
    let version = session.shared.engine.cluster.schema_version();
    let plan = CachedPlan::new(plan, planned.accesses, version, 0, false);
    let plan = inner_plan::lock_compiled(session, Compiled::Plan(Arc::new(plan)))?;
    if let Some(query) = rows_of(&plan.plan) {
        inner_plan::query(session, &query, &mut Nowhere)?;
    }
    let (columns, rows) = optimizer::explain::analyzed(&plan.plan);
    Ok(Listing {
        columns,
        rows,
        pending_filter: None,
    })
}

/// The plan with measures; `None` for a write without a query: its rows cannot be read without it.
fn measured_plan(mut plan: Plan) -> Option<Plan> {
    let root = match &mut plan {
        Plan::Query(query) => &mut query.root,
        Plan::FoundWrite(write) => &mut write.root,
        Plan::Insert(insert) => match &mut insert.source {
            InsertSource::Query(query) if insert.given_rows.is_none() => &mut query.root,
            _ => return None,
        },
        Plan::Update(_) | Plan::Delete(_) => return None,
    };
    *root = measured(std::mem::replace(root, Rel::OneRow));
    Some(plan)
}

/// The query of a plan: of a write, what it reads. As in MySQL, nothing is written.
fn rows_of(plan: &Plan) -> Option<Cow<'_, QueryPlan>> {
    match plan {
        Plan::Query(query) => Some(Cow::Borrowed(query)),
        Plan::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => Some(Cow::Borrowed(query)),
            _ => None,
        },
        Plan::FoundWrite(write) => Some(Cow::Owned(QueryPlan::of_write(write))),
        Plan::Update(_) | Plan::Delete(_) => None,
    }
}

/// Fails with 1235 for a format without measurements.
fn check_format(session: &Session, explained: &Explained) -> Result<()> {
    let name = match (explained.format, session.settings.explain_format) {
        (Some(ExplainFormat::Tree), _) | (None, ExplainFormat::Traditional | ExplainFormat::Tree) => {
            return Ok(());
        }
        (Some(ExplainFormat::Traditional), _) => "TRADITIONAL",
        (Some(ExplainFormat::Json), _) | (None, ExplainFormat::Json) => "JSON",
    };
    Err(Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support 'EXPLAIN ANALYZE with {name} format'"),
    ))
}

/// A sink that discards rows.
struct Nowhere;

impl RowSink for Nowhere {
    fn batch(&mut self, _: &RecordBatch) -> Result<()> {
        Ok(())
    }
}
