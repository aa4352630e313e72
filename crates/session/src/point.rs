//! The short way of `SELECT columns FROM t WHERE key = ?`: from the store's bytes to the packet's, with no operators and no
//! batches in between. Answers are the same as those of [`crate::run`], which everything else takes.

use std::io;

use executor::direct::point::PointSelect;
use functions::Strictness;
use planner::CachedPlan;
use planner::plan::QueryPlan;
use types::{Result, Value};
use wire::connection::PacketSink;
use wire::row::Format;

use crate::run::Outcome;
use crate::session::Session;
use crate::transaction::has_locked;

/// Room for most rows.
const ROW_BYTES: usize = 512;

impl Session {
    /// Runs it and sends the row, if there is one.
    ///
    /// # Errors
    /// Outer: the client is gone. Inner: the statement failed, and nothing was sent.
    pub(crate) fn run_point(
        &mut self,
        (plan, query): (&CachedPlan, &QueryPlan),
        point: &PointSelect,
        params: &mut Vec<Value>,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Outcome>> {
        let encoder = self.row_encoder(&query.columns, format);
        let mut row = Vec::with_capacity(ROW_BYTES);
        let found = self.as_statement(|session| {
            let eval = session.eval_context(std::mem::take(params), Strictness::Warn);
            let store = &session.shared.store;
            session
                .transaction
                .for_read(store, &session.settings, &session.process.interrupt)?;
            let found = match session.transaction.opened_for_read() {
                Some(transaction) => {
                    // A snapshot older than the table's definition cannot be read by it: 1412.
                    point.table().check_readable_at(transaction.snapshot_ts())?;
                    session.check_read_at(transaction.snapshot_ts(), || has_locked(transaction))?;
                    point.run(transaction, &eval, &encoder, &mut row)
                }
                None => {
                    let interrupt = &session.process.interrupt;
                    let snapshot = match point.reads_one_moment() {
                        true => store.latest().interruptible(interrupt.clone()),
                        false => store.snapshot_for(interrupt)?,
                    };
                    let found = point.run(&snapshot, &eval, &encoder, &mut row);
                    session.check_read_at(snapshot.ts(), || false).and(found)
                }
            };
            session.collect_warnings(&eval);
            *params = session.keep_context(eval);
            found
        });
        let found = match found {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        self.found_rows = u64::from(found);
        self.track_transaction(true);
        self.send_columns(self.columns_of(plan, query), 0, out)?;
        if found {
            out.send(&row)?;
        }
        self.send_rows_end(0, out)?;
        Ok(Ok(Outcome::Sent))
    }
}
