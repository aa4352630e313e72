//! Runs a plan: metadata locks, transaction, executor, and the end of the statement.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cluster::metadata_lock::Use;
use cluster::wait::WaitLimit;
use executor::{DmlResult, ExecContext, ReadSource, RowSink};
use functions::{EvalContext, Strictness};
use planner::CachedPlan;
use planner::plan::{Access, InsertSource, Locking, LockingWait, Plan, QueryPlan, Rel, Route, TableScan};
use schema::model::Table;
use types::{Error, Result, Value, errno};
use wire::capability;
use wire::connection::{PacketSink, PendingReply};
use wire::row::Format;

use crate::kept::Columns;
use crate::reply::{ClientRows, Done};
use crate::session::Session;
use crate::sinks::{Counted, Limited};
use crate::statistics::Kind;
use crate::text::kind_of;
use crate::track::Told;
use crate::transaction::{ends_transaction, has_locked};
use crate::virtual_tables::{ServerTables, is_in_dictionary};

/// What a plan's run left to tell the client.
pub enum Outcome {
    /// Rows were sent, with what ends them.
    Sent,
    Ok(Done),
    /// As `Ok`, and the connection is to be closed: COMMIT RELEASE.
    Close(Done),
}

/// The answer to a commit. Where nobody comes to say what became of that, which is a defect, its client is told so and does
/// not wait for ever.
struct Owed(Option<Arc<dyn PendingReply>>);

impl Owed {
    fn give(mut self, outcome: Result<()>, late: &mut dyn FnMut()) {
        if let Some(answer) = self.0.take() {
            answer.complete(outcome, late);
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(answer) = self.0.take() {
            let defect = "the commit was cut short by a defect";
            answer.complete(Err(Error::new(errno::ER_RESULT_UNDETERMINED, defect)), &mut || ());
        }
    }
}

impl Session {
    /// Runs `body` as one statement's work on the transaction: what it wrote is kept if it succeeds, undone if it
    /// fails, and committed where the transaction is the statement's own.
    pub(crate) fn as_statement<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.as_answered_statement(None, body)
    }

    /// [`Session::as_statement`], whose answer, which goes to the sink next, may wait for the commit in the statement's place.
    fn as_answered_statement<T>(
        &mut self,
        answer: Option<(Kind, &mut dyn PacketSink)>,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let savepoint = self.transaction.statement_savepoint();
        let result = body(self).map_err(|error| self.interruption(error));
        match &result {
            Err(error) if ends_transaction(error.code) => self.rollback_transaction(),
            Err(_) if self.transaction.ends_with_statement() => self.rollback_transaction(),
            Ok(_) if self.transaction.ends_with_statement() => self.commit_answered(answer)?,
            _ => {
                self.transaction.end_statement(savepoint, result.is_ok());
                if !self.transaction.in_transaction() {
                    self.table_locks.release_all();
                }
            }
        }
        result
    }

    pub(crate) fn commit_transaction(&mut self) -> Result<()> {
        self.commit_answered(None)
    }

    /// COMMIT, by a statement of some kind whose answer goes to the sink next. Where it can, the answer waits for the commit, and
    /// this does not: it says that all went well.
    pub(crate) fn commit_answered(&mut self, answer: Option<(Kind, &mut dyn PacketSink)>) -> Result<()> {
        let open = self.transaction.is_open();
        if self.table_locks.fence().is_none()
            && self.transaction.is_dirty()
            && self.shared.catalog.cluster.node().is_some()
        {
            // Every statement that writes names its lease; what has none must not be written.
            self.rollback_transaction();
            return Err(cluster::lease::lease_is_over());
        }
        let answer = answer.filter(|_| self.transaction.is_dirty() && !self.more_results);
        if let Some((kind, answer)) = answer.and_then(|(kind, sink)| Some((kind, sink.defer_reply()?))) {
            return self.commit_held(kind, answer);
        }
        let fence = self.table_locks.fence();
        let result = self.transaction.commit(self.shared.durability(), fence);
        if open {
            self.shared.statistics.count_end(result.is_ok());
        }
        self.shared.end_locks(&mut self.table_locks, &result);
        result
    }

    /// Commits, and leaves it to the answer to wait for that.
    fn commit_held(&mut self, kind: Kind, answer: Arc<dyn PendingReply>) -> Result<()> {
        let lease = self.table_locks.lease();
        let mut locks = self.table_locks.hand_over();
        let (shared, process) = (self.shared.clone(), self.process.clone());
        let (started, owed) = (self.statement_started, Owed(Some(answer.clone())));
        let done = move |outcome: kv::Result<kv::Timestamp>| {
            let result = outcome.map(drop).map_err(Error::from);
            shared.statistics.count_end(result.is_ok());
            shared.end_locks(&mut locks, &result);
            let failed = result.is_err();
            owed.give(result, &mut || {
                let now = Instant::now();
                shared.statistics.record(kind, now - started, failed);
                process.end(now);
            });
        };
        let fence = lease.as_ref().map(|node| node.fence());
        let durability = self.shared.durability();
        self.transaction.commit_then(durability, fence, Box::new(done));
        let outcome = answer.detach();
        self.answer_waits = outcome.is_none();
        outcome.unwrap_or(Ok(()))
    }

    /// A commit whose answer waited has failed, and its client heard of it.
    pub fn pending_reply_failed(&mut self, error: &Error) {
        // It has not heard what the answer would have told.
        self.told = Told::unknown();
        self.note_failure(error);
    }

    pub(crate) fn rollback_transaction(&mut self) {
        if self.transaction.is_open() {
            self.shared.statistics.count_end(false);
        }
        self.transaction.rollback();
        self.table_locks.release_all();
    }

    /// A statement has failed, maybe before it came to the transaction.
    pub(crate) fn end_of_failure(&mut self, error: &Error) {
        if error.code == errno::ER_SCHEMA_OUT_OF_DATE {
            self.rollback_transaction();
        } else if !self.transaction.in_transaction() {
            self.table_locks.release_all();
        }
    }

    /// Takes the metadata locks of a plan's tables. `false`: the schema has moved since it was planned; plan again.
    pub(crate) fn lock_tables(&mut self, plan: &Plan, planned_at: u64) -> Result<bool> {
        let mut tables = plan_uses(plan);
        if self
            .table_locks
            .rely_on(self.shared.catalog.cluster.lease())
            .is_err()
        {
            self.regain_lease()?;
        }
        if let Err(error) = self.check_locked_lease() {
            // Whatever the transaction has done cannot be committed any more.
            self.rollback_transaction();
            return Err(error);
        }
        let is_locked = self.check_locked(plan)?;
        for used in tables.clone() {
            self.transaction.deeds.note(used.what);
            if is_locked || used.table.is_virtual() {
                continue;
            }
            let limit = WaitLimit {
                timeout: self.settings.metadata_lock_wait,
                interrupt: &self.process.interrupt,
            };
            self.table_locks
                .acquire(used.table.id, used.what, &limit)
                .map_err(|error| self.interruption(error))?;
        }
        if self.shared.catalog.cluster.schema_version() == planned_at {
            return Ok(true);
        }
        let schema = self.shared.catalog.cluster.schema();
        Ok(tables.all(|used| {
            let planned = used.table;
            schema
                .table(&planned.database, &planned.name)
                .is_some_and(|now| now.id == planned.id && now.revision == planned.revision)
        }))
    }

    /// Runs a plan and sends its rows, if it has any.
    ///
    /// # Errors
    /// Outer: the client is gone. Inner: the statement failed, and nothing or part of a result set was sent.
    pub(crate) fn run_plan(
        &mut self,
        cached: &CachedPlan,
        params: &mut Vec<Value>,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Outcome>> {
        let plan = &cached.plan;
        if self.may_check_late(plan) {
            return Ok(self.run_checking_late(plan, params).map(Outcome::Ok));
        }
        let mut client_failure = None;
        let result = match plan {
            Plan::Query(query) => self.as_statement(|session| {
                let eval = session.eval_context(std::mem::take(params), Strictness::Warn);
                let columns = session.columns_of(cached, query);
                let run = session.query_to_client(query, columns, &eval, format, out, &mut client_failure);
                session.end_of_evaluation(&eval);
                session.keep_context(eval);
                run.map(|()| Outcome::Sent)
            }),
            _ => self.as_answered_statement(Some((kind_of(plan), out)), |session| {
                session.run_dml(plan, params).map(Outcome::Ok)
            }),
        };
        match client_failure {
            Some(error) => Err(error),
            None => Ok(result),
        }
    }

    fn query_to_client(
        &mut self,
        query: &QueryPlan,
        columns: Columns<'_>,
        eval: &Arc<EvalContext>,
        format: Format,
        out: &mut dyn PacketSink,
        client_failure: &mut Option<io::Error>,
    ) -> Result<()> {
        self.open_for_locking(query)?;
        // The sink reads the session's settings while the executor uses its transaction: they are taken apart for the
        // time of the run.
        let mut transaction = std::mem::take(&mut self.transaction);
        let mut rows = ClientRows::new(self, columns, format, out);
        let run = self.query_with(&mut transaction, query, eval, &mut rows);
        let was_sent = rows.rows;
        let failure = rows.failure.take();
        // The end of the rows tells the transaction's state, so it has to be back in its place.
        drop(rows);
        self.transaction = transaction;
        self.found_rows = was_sent;
        let run = run.map(|counted| self.found_rows = counted.unwrap_or(was_sent));
        self.collect_warnings(eval);
        if let Some(error) = failure {
            *client_failure = Some(error);
            return run;
        }
        run?;
        self.track_transaction(true);
        let mut end = ClientRows::new(self, columns, format, out);
        end.continue_after(was_sent);
        let sent = end.finish();
        *client_failure = end.failure.take();
        sent
    }

    /// Runs a query in whichever executor it belongs, over the snapshot or transaction its isolation calls for. Answers
    /// how many rows it would have without LIMIT, where it was to count them.
    fn query_with(
        &self,
        transaction: &mut crate::transaction::TransactionState,
        query: &QueryPlan,
        eval: &Arc<EvalContext>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        if let Some(limit) = &query.limit_of_output {
            let mut counted = Counted::new(sink, limit, eval)?;
            self.rows_with(transaction, query, eval, u64::MAX, &mut counted)?;
            return Ok(Some(counted.rows));
        }
        // A LIMIT of the statement's own goes before sql_select_limit.
        let limit = if has_limit(&query.root) {
            u64::MAX
        } else {
            self.settings.select_limit
        };
        self.rows_with(transaction, query, eval, limit, sink)
            .map(|()| None)
    }

    fn rows_with(
        &self,
        transaction: &mut crate::transaction::TransactionState,
        query: &QueryPlan,
        eval: &Arc<EvalContext>,
        limit: u64,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let (store, settings, interrupt) = (&self.shared.store, &self.settings, &self.process.interrupt);
        let mut sink = Limited::new(sink, limit);
        let result = if let Some(locking) = query.locking {
            let locked = transaction.for_locking_read(locking.exclusive, store, settings, interrupt)?;
            let result = self.execute(query, ReadSource::Transaction(locked), eval, &mut sink);
            // Once the rows have an end, nothing may go wrong any more.
            transaction.settle_with_statement()?;
            // Of a transaction that goes on, what is locked has to last as long as its lease.
            self.check_read_at(kv::LATEST, || !transaction.ends_with_statement())?;
            result
        } else {
            let joined = match joins_transaction(&query.root) {
                true => transaction.for_read(store, settings, interrupt)?,
                false => None,
            };
            match joined {
                Some(transaction) if transaction.is_dirty() || !self.is_analytical(query) => {
                    self.check_read_at(transaction.snapshot_ts(), || has_locked(transaction))?;
                    self.execute(query, ReadSource::Transaction(transaction), eval, &mut sink)
                }
                Some(transaction) => {
                    self.check_read_at(transaction.snapshot_ts(), || has_locked(transaction))?;
                    self.analyse(query, transaction.snapshot().clone(), eval, &mut sink)
                }
                None if self.is_analytical(query) => {
                    let snapshot = store.snapshot_for(interrupt)?;
                    self.check_read_at(snapshot.ts(), || false)?;
                    self.analyse(query, snapshot, eval, &mut sink)
                }
                None => {
                    let one_key = executor::reads_one_moment(query);
                    let snapshot = if one_key {
                        store.latest().interruptible(interrupt.clone())
                    } else {
                        store.snapshot_for(interrupt)?
                    };
                    self.check_read_at(snapshot.ts(), || false)?;
                    let result = self.execute(query, ReadSource::Snapshot(&snapshot), eval, &mut sink);
                    if one_key {
                        // The newest version has no moment before it has been read.
                        self.check_read_at(snapshot.ts(), || false)?;
                    }
                    result
                }
            }
        };
        match result {
            Err(_) if sink.is_full() => Ok(()),
            // SLEEP() has ended early, and nothing has looked since. One that is all the query does answers 1.
            Ok(()) if has_rows_to_look_at(&query.root) => eval.check_interrupted(),
            result => result,
        }
    }

    fn is_analytical(&self, query: &QueryPlan) -> bool {
        query.route == Route::Analytical && analytics::supports(query)
    }

    fn analyse(
        &self,
        query: &QueryPlan,
        snapshot: kv::Snapshot,
        eval: &Arc<EvalContext>,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        self.shared.statistics.analytical.fetch_add(1, Ordering::Relaxed);
        let source = analytics::Source {
            snapshot: snapshot.interruptible(self.process.interrupt.clone()),
            interrupt: self.process.interrupt.clone(),
            limits: analytics::Limits {
                memory: self.shared.memory,
                memory_bytes: self.settings.memory_limit_bytes,
                spill_directory: self.shared.spill_directory.clone(),
            },
        };
        analytics::query(query, &source, eval, sink)
    }

    fn execute(
        &self,
        query: &QueryPlan,
        source: ReadSource,
        eval: &Arc<EvalContext>,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let tables = ServerTables { session: self };
        executor::query(query, source, &self.exec_context(eval, &tables), sink)
    }

    fn exec_context<'a>(&'a self, eval: &'a EvalContext, tables: &'a ServerTables<'a>) -> ExecContext<'a> {
        ExecContext {
            eval,
            store: &self.shared.store,
            cluster: &self.shared.catalog.cluster,
            virtual_tables: tables,
            interrupt: &self.process.interrupt,
            lock_wait: self.settings.innodb_lock_wait,
            memory_limit_bytes: self.settings.memory_limit_bytes,
            memory: self.shared.memory,
            auto_increment: self.settings.auto_increment,
            insert_select: None,
            explicit_auto_random: self.settings.explicit_auto_random,
        }
    }

    /// A query whose rows stay here: for cursors, SET and SHOW.
    pub(crate) fn query_to_sink(
        &mut self,
        query: &QueryPlan,
        eval: &Arc<EvalContext>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        self.open_for_locking(query)?;
        let mut transaction = std::mem::take(&mut self.transaction);
        let run = self.query_with(&mut transaction, query, eval, sink);
        self.transaction = transaction;
        self.collect_warnings(eval);
        run
    }

    /// Takes the parameters, and gives them back.
    pub(crate) fn run_dml(&mut self, plan: &Plan, params: &mut Vec<Value>) -> Result<Done> {
        self.check_may_write(plan)?;
        self.open_for_writing()?;
        let ignore = match plan {
            Plan::Insert(insert) => insert.ignore,
            Plan::Update(update) => update.ignore,
            Plan::Delete(delete) => delete.ignore,
            Plan::Query(_) => false,
        };
        let strict = self.settings.sql_mode.strict && !ignore;
        let eval = self.eval_context(
            std::mem::take(params),
            if strict {
                Strictness::Error
            } else {
                Strictness::Warn
            },
        );
        let mut state = std::mem::take(&mut self.transaction);
        let run = self.write_with(&mut state, plan, &eval);
        self.transaction = state;
        self.collect_warnings(&eval);
        self.end_of_evaluation(&eval);
        *params = self.keep_context(eval);
        let result = run?;
        Ok(self.dml_done(plan, &result))
    }

    fn write_with(
        &self,
        state: &mut crate::transaction::TransactionState,
        plan: &Plan,
        eval: &Arc<EvalContext>,
    ) -> Result<DmlResult> {
        let (store, interrupt) = (&self.shared.store, &self.process.interrupt);
        state.for_write(store, &self.settings, interrupt)?;
        let tables = ServerTables { session: self };
        let context = ExecContext {
            // A cluster locks many rows at once only for one owner.
            insert_select: state.locks_what_it_reads().then_some(Locking {
                exclusive: store.is_shared(),
                wait: LockingWait::Wait,
            }),
            ..self.exec_context(eval, &tables)
        };
        let transaction = state.for_write(store, &self.settings, interrupt)?;
        let result = match plan {
            Plan::Insert(insert) => return executor::insert(insert, transaction, &context),
            Plan::Update(update) => executor::update(update, transaction, &context)?,
            Plan::Delete(delete) => executor::delete(delete, transaction, &context)?,
            Plan::Query(_) => return Err(Error::internal("a query is no write")),
        };
        eval.check_interrupted()?;
        Ok(result)
    }

    fn check_may_write(&self, plan: &Plan) -> Result<()> {
        self.shared.check_writable()?;
        let target = match plan {
            Plan::Update(update) => &update.target,
            Plan::Delete(delete) => &delete.target,
            _ => return Ok(()),
        };
        let unkeyed = matches!(target.scan.access, Access::Full { .. });
        if self.settings.safe_updates && unkeyed && target.limit.is_none() {
            return Err(Error::new(
                1175,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. ",
            ));
        }
        Ok(())
    }

    /// The OK packet's contents after a write (manual 13.2, "mysql_info()").
    fn dml_done(&mut self, plan: &Plan, result: &DmlResult) -> Done {
        if let Some(id) = result.generated_id {
            self.last_insert_id = id;
        }
        let warnings = self.diagnostics.count;
        let found_rows = self.has(capability::FOUND_ROWS);
        let info = match plan {
            Plan::Insert(insert) => {
                let several = match &insert.source {
                    InsertSource::Values(rows) => rows.len() > 1,
                    InsertSource::Query(_) => true,
                };
                let (records, mut duplicates) = (result.records, result.duplicates);
                if found_rows && !insert.ignore {
                    // Rows that ON DUPLICATE KEY UPDATE found as they should be.
                    duplicates += result.matched.saturating_sub(result.affected);
                }
                if several {
                    info_of([
                        ("Records", records),
                        ("Duplicates", duplicates),
                        ("Warnings", warnings),
                    ])
                } else {
                    Cow::default()
                }
            }
            Plan::Update(_) if (result.matched, result.affected, warnings) == (1, 1, 0) => ONE_CHANGED.into(),
            Plan::Update(_) => info_of([
                ("Rows matched", result.matched),
                ("Changed", result.affected),
                ("Warnings", warnings),
            ]),
            _ => Cow::default(),
        };
        let counts_matches = match plan {
            Plan::Update(_) => true,
            Plan::Insert(insert) => matches!(insert.mode, planner::plan::InsertMode::Update(_)),
            _ => false,
        };
        let affected = if found_rows && counts_matches {
            result.matched
        } else {
            result.affected
        };
        Done {
            affected,
            insert_id: result.ok_insert_id,
            info,
        }
    }

    /// Starts the clock of `max_execution_time`, or of the statement's own MAX_EXECUTION_TIME, which concern SELECT only.
    pub(crate) fn start_deadline(&self, plan: Option<&Plan>) {
        let limit = match plan {
            Some(Plan::Query(query)) => query.max_execution.unwrap_or(self.settings.max_execution),
            _ => Duration::ZERO,
        };
        let deadline = (limit > Duration::ZERO).then(|| Instant::now() + limit);
        self.process.interrupt.set_deadline(deadline);
    }

    /// Result columns of a plan; none for writes.
    pub(crate) fn plan_columns(plan: &Plan) -> &[planner::plan::ResultColumn] {
        match plan {
            Plan::Query(query) => &query.columns,
            _ => &[],
        }
    }
}

/// Whether the statement has a LIMIT.
fn has_limit(rel: &Rel) -> bool {
    match rel {
        Rel::Limit { .. } | Rel::Sort { limit: Some(_), .. } => true,
        Rel::Project { input, .. } | Rel::Filter { input, .. } | Rel::Distinct { input } => has_limit(input),
        _ => false,
    }
}

/// Whether a query goes through rows of a table, or filters: such a one fails when it is interrupted, whatever its
/// functions make of it. One key's row is no table to MySQL, but a constant.
fn has_rows_to_look_at(rel: &Rel) -> bool {
    match rel {
        Rel::OneRow => false,
        Rel::Virtual(_) | Rel::Filter { .. } => true,
        Rel::Scan(scan) => match &scan.access {
            Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. } => keys.len() > 1,
            _ => true,
        },
        Rel::Project { input, .. }
        | Rel::Aggregate { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Repeat { input, .. }
        | Rel::Distinct { input } => has_rows_to_look_at(input),
    }
}

/// Where a query's rows come from.
fn source(mut rel: &Rel) -> &Rel {
    loop {
        rel = match rel {
            Rel::OneRow | Rel::Virtual(_) | Rel::Scan(_) => return rel,
            Rel::Filter { input, .. }
            | Rel::Project { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::Sort { input, .. }
            | Rel::Limit { input, .. }
            | Rel::Repeat { input, .. }
            | Rel::Distinct { input } => input,
        };
    }
}

/// Whether a query is part of a transaction, and opens one where autocommit is off: not one that reads no table.
pub(crate) fn joins_transaction(rel: &Rel) -> bool {
    match source(rel) {
        Rel::Scan(_) => true,
        Rel::Virtual(scan) => is_in_dictionary(&scan.table),
        _ => false,
    }
}

/// A table that a plan uses.
#[derive(Clone, Copy)]
pub(crate) struct PlanUse<'p> {
    pub table: &'p Arc<Table>,
    /// What the statement calls it.
    pub alias: &'p str,
    pub what: Use,
}

/// The stored tables a plan uses.
pub(crate) fn plan_uses(plan: &Plan) -> impl Iterator<Item = PlanUse<'_>> + Clone {
    fn of_scan(scan: &TableScan, what: Use) -> PlanUse<'_> {
        PlanUse {
            table: &scan.table,
            alias: &scan.alias,
            what,
        }
    }
    fn of_query(query: &QueryPlan) -> Option<PlanUse<'_>> {
        let for_update = query.locking.is_some_and(|locking| locking.exclusive);
        let what = if for_update { Use::Write } else { Use::Read };
        match source(&query.root) {
            Rel::Scan(scan) => Some(of_scan(scan, what)),
            _ => None,
        }
    }
    let (first, second) = match plan {
        Plan::Query(query) => (of_query(query), None),
        Plan::Insert(insert) => {
            let target = PlanUse {
                table: &insert.table,
                alias: &insert.table.name,
                what: Use::Write,
            };
            let source = match &insert.source {
                InsertSource::Query(query) => of_query(query),
                InsertSource::Values(_) => None,
            };
            (Some(target), source)
        }
        Plan::Update(update) => (Some(of_scan(&update.target.scan, Use::Write)), None),
        Plan::Delete(delete) => (Some(of_scan(&delete.target.scan, Use::Write)), None),
    };
    first.into_iter().chain(second)
}

/// What `mysql_info()` shows of most UPDATEs.
const ONE_CHANGED: &str = "Rows matched: 1  Changed: 1  Warnings: 0";

/// What it shows of others.
fn info_of(counts: [(&str, u64); 3]) -> Cow<'static, str> {
    let [(a, x), (b, y), (c, z)] = counts;
    format!("{a}: {x}  {b}: {y}  {c}: {z}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_updates_are_told_of_as_all_others() {
        let counts = [("Rows matched", 1), ("Changed", 1), ("Warnings", 0)];
        assert_eq!(info_of(counts), ONE_CHANGED);
    }
}
