//! INSERT, REPLACE, UPDATE and DELETE; and statements inside other statements.

use executor::{DmlResult, RowSink};
use planner::plan::{Locking, LockingWait, Plan};
use schema::model::Table;
use types::{Error, Result, errno};

use crate::execution::{Evaluation, Execution, Outcome};
use crate::lease;
use crate::runner::Runner;
use crate::safe_update;

impl Runner<'_> {
    /// Runs any plan as one statement.
    ///
    /// # Errors
    /// Those of [`Runner::query`], [`Runner::write`] and [`Runner::statement`].
    pub fn run(&mut self, plan: &Plan, with: Evaluation<'_>, sink: &mut dyn RowSink) -> Result<Outcome> {
        self.statement(|runner| match plan {
            Plan::Query(query) => runner.query(query, with, sink).map(Outcome::Rows),
            write => runner.write(write, with).map(Outcome::Changed),
        })
    }

    /// Runs a write in the open transaction, or opens one.
    ///
    /// # Errors
    /// What expressions, constraints, locks and the store fail with; 1290 and 1792 if nothing may be
    /// written; 1175 in safe update mode.
    pub fn write(&mut self, plan: &Plan, with: Evaluation<'_>) -> Result<DmlResult> {
        let temporary = written_temporary(plan);
        self.check_may_write(plan, with, temporary.is_some())?;
        match plan {
            Plan::Insert(insert) => insert
                .queries()
                .try_for_each(|root| self.check_join_size(root, with))?,
            Plan::FoundWrite(write) => write
                .queries()
                .try_for_each(|root| self.check_join_size(root, with))?,
            Plan::Query(_) | Plan::Update(_) | Plan::Delete(_) => {}
        }
        lease::open_for_writing(self.env, self.transaction, temporary.is_some())?;
        let insert_select = self.insert_select_locking();
        if insert_select.is_none() && plan.reads_without_locks() {
            self.transaction.take_snapshot_beside_locks()?;
        }
        let execution = Execution { env: self.env, with };
        let is_whole = self.transaction.ends_with_statement();
        let result = execution.write(plan, self.transaction.opened()?, insert_select, is_whole);
        match temporary {
            Some(table) => result.map_err(|error| name_full_table(error, table)),
            None => result,
        }
    }

    /// Runs a statement inside the one that runs, in its transaction, which has to be open. What it writes
    /// stays if it succeeds and is undone if it fails; the outer statement decides about both.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn nested(&mut self, plan: &Plan, with: Evaluation<'_>, sink: &mut dyn RowSink) -> Result<Outcome> {
        let insert_select = self.insert_select_locking();
        let execution = Execution { env: self.env, with };
        execution.nested(plan, self.transaction.opened()?, insert_select, sink)
    }

    /// How INSERT ... SELECT locks the rows that it reads: above READ COMMITTED (manual 15.7.3), and not in
    /// optimistic transactions. A cluster locks many rows at once for one owner only.
    fn insert_select_locking(&self) -> Option<Locking> {
        let locks = self.transaction.locks_what_it_reads();
        locks.then_some(Locking {
            exclusive: self.env.engine.store.is_shared(),
            wait: LockingWait::Wait,
            of_write: true,
        })
    }

    /// `temporary`: it writes nothing that others see.
    fn check_may_write(&self, plan: &Plan, with: Evaluation<'_>, temporary: bool) -> Result<()> {
        if !temporary {
            self.env.engine.check_writable(self.env.settings.is_admin)?;
        }
        match self.env.settings.safe_updates {
            true => safe_update::check(plan, with.context),
            false => Ok(()),
        }
    }
}

/// A temporary table that a plan writes to, if it writes to no other tables.
fn written_temporary(plan: &Plan) -> Option<&Table> {
    let table = match plan {
        Plan::Query(_) => return None,
        Plan::Insert(insert) => &insert.table,
        Plan::Update(update) => &update.target.scan.table,
        Plan::Delete(delete) => &delete.target.scan.table,
        Plan::FoundWrite(write) => {
            let is_temporary = write.tables.iter().all(|found| found.table.is_temporary());
            return write
                .tables
                .first()
                .map(|found| &*found.table)
                .filter(|_| is_temporary);
        }
    };
    table.is_temporary().then_some(table)
}

/// The store knows no tables: 1114 gets the name here.
fn name_full_table(error: Error, table: &Table) -> Error {
    match error.code {
        errno::ER_RECORD_FILE_FULL => Error::new(error.code, format!("The table '{}' is full", table.name)),
        _ => error,
    }
}
