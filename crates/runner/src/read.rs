//! Queries: the snapshot or transaction they read, and the executor they run in.

use executor::{ReadSource, RowSink};
use kv::{Reader, Snapshot};
use planner::plan::{Locking, QueryPlan, Rel, TableScan};
use schema::model::Table;
use types::{Error, Result, errno};

use crate::execution::{Evaluation, Execution};
use crate::lease;
use crate::query_shape::{examines_rows, has_limit, joins_transaction, limit, rows_examined};
use crate::runner::Runner;
use crate::sinks::{Counted, Limited};

impl Runner<'_> {
    /// Runs a query. With SQL_CALC_FOUND_ROWS, returns how many rows it has without LIMIT.
    ///
    /// # Errors
    /// What expressions, locks, the store and the sink fail with; 8027 if no lease covers what was read.
    pub fn query(
        &mut self,
        query: &QueryPlan,
        with: Evaluation<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Option<u64>> {
        self.check_join_size(&query.root, with)?;
        if let Some(locking) = query.locking {
            let needs_read_write = self.needs_read_write(query, locking);
            if needs_read_write {
                self.env.engine.check_writable(self.env.settings.is_admin)?;
            }
            lease::open_for_locking(self.env, self.transaction, needs_read_write)?;
        }
        if let Some(limit) = &query.limit_of_output {
            let mut counted = Counted::new(sink, limit, with.context)?;
            self.rows(query, with, u64::MAX, &mut counted)?;
            return Ok(Some(counted.rows));
        }
        // A LIMIT of the statement takes precedence over sql_select_limit.
        let limit = if has_limit(&query.root) {
            u64::MAX
        } else {
            self.env.settings.select_limit
        };
        self.rows(query, with, limit, sink).map(|()| None)
    }

    /// Error 1104 for a query that is expected to look at more rows than `max_join_size`, unless
    /// `sql_big_selects` is on.
    pub(crate) fn check_join_size(&self, root: &Rel, with: Evaluation<'_>) -> Result<()> {
        let Some(most) = self.env.settings.max_join_size else {
            return Ok(());
        };
        let limit = match limit(root, with.context)? {
            Some(limit) => limit,
            None => self.env.settings.select_limit,
        };
        if rows_examined(root, limit) <= most as f64 {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_TOO_BIG_SELECT,
            "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or \
             SET MAX_JOIN_SIZE=# if the SELECT is okay",
        ))
    }

    fn rows(
        &mut self,
        query: &QueryPlan,
        with: Evaluation<'_>,
        limit: u64,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let mut sink = Limited::new(sink, limit);
        let result = match query.locking {
            Some(locking) => self.locking_rows(query, locking, with, &mut sink)?,
            None => self.plain_rows(query, with, &mut sink),
        };
        match result {
            Err(_) if sink.is_full() => Ok(()),
            // SLEEP() may have returned early, and nothing has looked at the interrupt since. A query that
            // does nothing else answers 1.
            Ok(()) if examines_rows(&query.root) => with.context.check_interrupted(),
            result => result,
        }
    }

    /// FOR UPDATE and FOR SHARE. The inner result is that of the rows.
    fn locking_rows(
        &mut self,
        query: &QueryPlan,
        locking: Locking,
        with: Evaluation<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Result<()>> {
        let env = self.env;
        let needs_read_write = self.needs_read_write(query, locking);
        self.transaction.for_locking_read(needs_read_write, env)?;
        if query.root.reads_without_locks() {
            self.transaction.take_snapshot_beside_locks()?;
        }
        let transaction = self.transaction.opened()?;
        let result = Execution { env, with }.query(query, ReadSource::Transaction(transaction), sink);
        // After the end of the rows nothing may fail any more, so what the commit would wait for is waited
        // for now.
        self.transaction.settle_with_statement()?;
        // Where the transaction goes on, its locks have to last as long as its lease.
        lease::check_read_at(env, self.transaction, kv::LATEST, || {
            !self.transaction.ends_with_statement()
        })?;
        Ok(result)
    }

    fn plain_rows(&mut self, query: &QueryPlan, with: Evaluation<'_>, sink: &mut dyn RowSink) -> Result<()> {
        let env = self.env;
        let execution = Execution { env, with };
        if joins_transaction(query) && self.transaction.for_read(env)? {
            self.check_transaction_read()?;
            let transaction = self.transaction.opened()?;
            if transaction.is_dirty() {
                return execution.query(query, ReadSource::Transaction(transaction), sink);
            }
            let snapshot = transaction.snapshot().clone();
            return match Execution::is_analytical(query) {
                true => execution.analyse(query, snapshot, sink),
                false => {
                    let source = ReadSource::Transaction(transaction);
                    execution.query_or_larger(query, source, || snapshot, sink)
                }
            };
        }
        if joins_transaction(query) {
            self.transaction.ends.commits += 1;
        }
        let store = &env.engine.store;
        if Execution::is_analytical(query) {
            let snapshot = self.with_private(store.snapshot_for(env.interrupt)?);
            lease::check_read_at(env, self.transaction, snapshot.ts(), || false)?;
            return execution.analyse(query, snapshot, sink);
        }
        let one_moment = executor::reads_one_moment(query);
        let snapshot = match one_moment {
            true => store.latest().interruptible(env.interrupt.clone()),
            false => store.snapshot_for(env.interrupt)?,
        };
        let snapshot = self.with_private(snapshot);
        lease::check_read_at(env, self.transaction, snapshot.ts(), || false)?;
        let source = ReadSource::Snapshot(&snapshot);
        let result = execution.query_or_larger(query, source, || snapshot.clone(), sink);
        if one_moment {
            // The newest version has no timestamp before it has been read.
            lease::check_read_at(env, self.transaction, snapshot.ts(), || false)?;
        }
        result
    }

    /// The fast path of a query that looks up one row by its key, which `read` does. `one_moment`: it reads
    /// the store once only.
    ///
    /// # Errors
    /// Those of `read`; 1412 if the snapshot is older than the table's definition; 8027 if no lease
    /// covers what was read.
    pub fn read_row<T>(
        &mut self,
        table: &Table,
        one_moment: bool,
        read: impl FnOnce(&dyn Reader) -> Result<T>,
    ) -> Result<T> {
        let env = self.env;
        if self.transaction.for_read(env)? {
            table.check_readable_at(self.transaction.opened()?.snapshot_ts())?;
            self.check_transaction_read()?;
            return read(&*self.transaction.opened()?);
        }
        let store = &env.engine.store;
        let snapshot = match one_moment {
            true => store.latest().interruptible(env.interrupt.clone()),
            false => store.snapshot_for(env.interrupt)?,
        };
        let snapshot = self.with_private(snapshot);
        let row = read(&snapshot);
        lease::check_read_at(env, self.transaction, snapshot.ts(), || false).and(row)
    }

    /// Whether a READ ONLY transaction refuses a query with locks: unless it locks rows of temporary tables
    /// only.
    fn needs_read_write(&self, query: &QueryPlan, locking: Locking) -> bool {
        let is_temporary = |scan: &TableScan| scan.table.is_temporary();
        let may_be_temporary = self.transaction.private().is_some();
        locking.exclusive && !(may_be_temporary && query.root.scans().into_iter().all(is_temporary))
    }

    /// A snapshot in which the session's own keys are seen.
    fn with_private(&self, snapshot: Snapshot) -> Snapshot {
        match self.transaction.private() {
            None => snapshot,
            private => snapshot.with_private(private.cloned()),
        }
    }

    /// Whether the transaction's snapshot is covered by a lease.
    fn check_transaction_read(&mut self) -> Result<()> {
        let ts = self.transaction.opened()?.snapshot_ts();
        lease::check_read_at(self.env, self.transaction, ts, || self.transaction.has_locked())
    }
}
