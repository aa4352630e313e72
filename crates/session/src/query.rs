//! Runs a query: by a fast path for one key, or by the runner.

use std::io;
use std::sync::Arc;

use executor::RowSink;
use functions::{ByPlace, EvalContext, Strictness};
use planner::CachedPlan;
use planner::plan::{Plan, QueryPlan, Rel, ResultColumn};
use runner::Evaluation;
use types::{Result, Value};
use wire::connection::PacketSink;
use wire::row::Format;

use crate::attachment::{ReadPlaces, columns_of, point_of, reads_of};
use crate::reply::{self, Outcome};
use crate::result_set::ResultSetSink;
use crate::session::Session;
use crate::virtual_tables::ServerTables;

/// The fast path of `SELECT columns FROM t WHERE key = ?`: from the store's bytes directly to the packet,
/// without operators and batches. `None`: it is another query.
pub fn run_point(
    session: &mut Session,
    (plan, query): (&CachedPlan, &QueryPlan),
    params: &mut Vec<Value>,
    format: Format,
    out: &mut dyn PacketSink,
) -> io::Result<Option<Result<Outcome>>> {
    /// Enough for most rows.
    const ROW_BYTES: usize = 512;

    let reply = reply::context(session);
    let Some((point, reads)) = point_of(plan, &reply, session.settings.run.select_limit) else {
        return Ok(None);
    };
    let encoder = reply.row_encoder(&query.columns, format);
    let mut row = Vec::with_capacity(ROW_BYTES);
    let eval = session.eval_context(std::mem::take(params), Strictness::Warn);
    let found = session.runner().statement(|runner| {
        runner.read_row(point.table(), point.reads_one_moment(), |reader| {
            point.run(reader, &eval, &encoder, &mut row)
        })
    });
    session.diagnostics.collect(&eval, session.settings.warnings);
    *params = session.contexts.give_back(eval);
    let found = match found {
        Ok(found) => found,
        Err(error) => return Ok(Some(Err(error))),
    };
    session.last.found_rows = u64::from(found);
    session.event.is_point = true;
    session.event.is_lone_point = !session.transaction.is_open();
    session.event.rows_sent = u64::from(found);
    session.event.reads.keys = 1;
    if session.shared.events.is_on() {
        reads.count(&session.shared.events, 1);
    }
    reply::track_transaction(session, true);
    let reply = reply::context(session);
    reply.send_columns(columns_of(plan, query, &reply), 0, out)?;
    if found {
        out.send(&row)?;
    }
    reply.send_rows_end(0, session.tracker.changes(), out)?;
    Ok(Some(Ok(Outcome::Sent)))
}

/// Runs a query and sends its rows.
///
/// # Errors
/// Outer: the client is gone. Inner: the statement failed, and nothing or a part of the result set was sent.
pub fn run_query(
    session: &mut Session,
    (plan, query): (&CachedPlan, &QueryPlan),
    params: &mut Vec<Value>,
    format: Format,
    out: &mut dyn PacketSink,
) -> io::Result<Result<Outcome>> {
    let eval = session.eval_context(std::mem::take(params), Strictness::Warn);
    let reply = reply::context(session);
    let reads = reads_of(plan, query, &reply).filter(|_| session.shared.events.is_on());
    eval.reads
        .set_by_place(reads.map_or(ByPlace::Not, ReadPlaces::by_place));
    let mut rows = ResultSetSink::new(reply, columns_of(plan, query, &reply), format, out);
    let result = run(session, query, &eval, &mut rows);
    let sent = rows.rows();
    // FOUND_ROWS() includes the rows that OFFSET leaves out.
    session.last.found_rows = match sent {
        0 => 0,
        sent => sent.saturating_add(rows_left_out(query, &eval)),
    };
    session.event.rows_sent = sent;
    session.event.reads = eval.reads.take();
    if let Some(reads) = reads {
        let events = &session.shared.events;
        let by_place = events.table_io.record(&eval.reads);
        reads.count(events, session.event.reads.examined().saturating_sub(by_place));
    }
    plan.observe(session.event.reads.examined());
    session.contexts.give_back(eval);
    let result = result.map(|counted| {
        session.last.found_rows = counted.unwrap_or(session.last.found_rows);
        reply::track_transaction(session, true);
    });
    let reply = reply::context(session);
    let sent = rows.finish(result, &reply, session.tracker.changes())?;
    Ok(sent.map(|()| Outcome::Sent))
}

/// Runs a query, and passes its rows to the sink. Returns how many rows SQL_CALC_FOUND_ROWS has counted.
pub fn run(
    session: &mut Session,
    query: &QueryPlan,
    eval: &Arc<EvalContext>,
    rows: &mut dyn RowSink,
) -> Result<Option<u64>> {
    let mut parts = session.parts();
    let with = Evaluation {
        context: eval,
        tables: &ServerTables { view: parts.view },
        file: None,
    };
    let result = parts.runner.statement(|runner| runner.query(query, with, rows));
    session.end_of_evaluation(eval);
    result
}

/// How many rows the OFFSET of a query leaves out, if it sends any.
fn rows_left_out(query: &QueryPlan, eval: &EvalContext) -> u64 {
    let is_limit = |rel: &&Rel| matches!(rel, Rel::Limit { .. } | Rel::Project { .. });
    let mut above = query.root.operators().take_while(is_limit);
    let offset = above.find_map(|rel| match rel {
        Rel::Limit { offset, .. } => offset.as_ref(),
        _ => None,
    });
    offset
        .and_then(|offset| functions::eval_value(offset, eval).ok()?.as_u64())
        .unwrap_or(0)
}

/// Result columns of a plan; none for writes.
pub fn plan_columns(plan: &Plan) -> &[ResultColumn] {
    match plan {
        Plan::Query(query) => &query.columns,
        _ => &[],
    }
}
