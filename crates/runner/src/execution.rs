//! The execution of one statement: the executors, over rows that are read from a snapshot or a transaction.
//!
//! Everything here takes a transaction by reference, so that a statement can run inside another statement of
//! the same transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor::{
    DmlResult, ExecContext, LoadedFile, PipelineResources, ReadSource, RowBudget, RowSink, VirtualTables,
};
use functions::EvalContext;
use kv::{Snapshot, Transaction};
use planner::plan::{Locking, Plan, QueryPlan, Route};
use types::{Error, Result};

use crate::environment::Environment;

/// What the expressions and the virtual tables of a statement are evaluated with.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The statement's parameters are in it, and its warnings come out of it.
    pub context: &'a Arc<EvalContext>,
    pub tables: &'a dyn VirtualTables,
    /// The file that LOAD DATA reads.
    pub file: Option<&'a dyn LoadedFile>,
}

/// What a statement comes to.
#[derive(Debug)]
pub enum Outcome {
    /// The rows have gone to the sink. With SQL_CALC_FOUND_ROWS: how many there were without LIMIT.
    Rows(Option<u64>),
    Changed(DmlResult),
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Execution<'a> {
    pub env: Environment<'a>,
    pub with: Evaluation<'a>,
}

impl Execution<'_> {
    pub fn is_analytical(query: &QueryPlan) -> bool {
        query.route == Route::Analytical && analytics::supports(query)
    }

    /// Runs a query in `analytics`, on several threads.
    pub fn analyse(&self, query: &QueryPlan, snapshot: Snapshot, sink: &mut dyn RowSink) -> Result<()> {
        let engine = self.env.engine;
        engine.counters.analytical.fetch_add(1, Ordering::Relaxed);
        let source = analytics::Source {
            snapshot: snapshot.interruptible(self.env.interrupt.clone()),
            interrupt: self.env.interrupt.clone(),
            pipelines: PipelineResources {
                store: engine.store.clone(),
                cluster: Arc::clone(&engine.cluster),
                interrupt: self.env.interrupt.clone(),
                memory: engine.memory,
                memory_limit_bytes: self.env.settings.memory_limit_bytes,
                spill_directory: engine.spill_directory.clone(),
                cte_max_recursion_depth: self.env.settings.cte_max_recursion_depth,
            },
            limits: analytics::Limits {
                memory: engine.memory,
                memory_bytes: self.env.settings.memory_limit_bytes,
                spill_directory: engine.spill_directory.clone(),
            },
        };
        if analytics::joins_wide_rows(query, &source)?
            || !analytics::query(query, &source, self.with.context, sink)?
        {
            return self.query(query, ReadSource::Snapshot(&source.snapshot), sink);
        }
        Ok(())
    }

    /// Runs a query in `executor`, on this thread.
    pub fn query(&self, query: &QueryPlan, source: ReadSource<'_>, sink: &mut dyn RowSink) -> Result<()> {
        executor::query(query, source, &self.context(None), sink)
    }

    /// The same for a query that may read more rows than estimated: as long as no row has been sent, it can
    /// be stopped and run in `analytics`, at the same snapshot.
    pub fn query_or_larger(
        &self,
        query: &QueryPlan,
        source: ReadSource<'_>,
        snapshot: impl FnOnce() -> Snapshot,
        sink: &mut dyn RowSink,
    ) -> Result<()> {
        let Some(larger) = &query.larger else {
            return self.query(query, source, sink);
        };
        let budget = RowBudget::new(larger.rows_max);
        let warnings = &self.with.context.warnings;
        let warned = warnings.count();
        let result = executor::query_within(query, source, &self.context(None), &budget, sink);
        if !budget.is_exceeded() {
            return result;
        }
        drop(warnings.take_back(warned));
        self.with.context.reads.begin_larger_plan();
        self.analyse(&larger.query, snapshot(), sink)
    }

    /// Runs INSERT, REPLACE, UPDATE or DELETE. `insert_select`: how INSERT ... SELECT locks the rows that it
    /// reads. `is_whole`: the transaction ends with the statement.
    pub fn write(
        &self,
        plan: &Plan,
        transaction: &mut Transaction,
        insert_select: Option<Locking>,
        is_whole: bool,
    ) -> Result<DmlResult> {
        let mut context = self.context(insert_select);
        context.alone_wait = is_whole.then_some(self.env.settings.metadata_lock_wait);
        let result = match plan {
            Plan::Insert(insert) => return executor::insert(insert, transaction, &context),
            Plan::Update(update) => executor::update(update, transaction, &context)?,
            Plan::Delete(delete) => executor::delete(delete, transaction, &context)?,
            Plan::FoundWrite(write) => executor::write_found(write, transaction, &context)?,
            Plan::Query(_) => return Err(Error::internal("the statement to write is a query")),
        };
        self.with.context.check_interrupted()?;
        Ok(result)
    }

    /// Runs a statement inside another one, in its transaction. If it succeeds, its writes stay; if it fails,
    /// they are undone.
    pub fn nested(
        &self,
        plan: &Plan,
        transaction: &mut Transaction,
        insert_select: Option<Locking>,
        sink: &mut dyn RowSink,
    ) -> Result<Outcome> {
        let savepoint = transaction.savepoint();
        let result = match plan {
            Plan::Query(query) => self
                .query(query, ReadSource::Transaction(transaction), sink)
                .map(|()| Outcome::Rows(None)),
            write => self
                .write(write, transaction, insert_select, false)
                .map(Outcome::Changed),
        };
        if result.is_err() {
            transaction.rollback_to(savepoint);
        }
        transaction.release(savepoint);
        result
    }

    fn context(&self, insert_select: Option<Locking>) -> ExecContext<'_> {
        let Environment {
            engine,
            settings,
            interrupt,
            ..
        } = self.env;
        ExecContext {
            eval: self.with.context,
            store: &engine.store,
            cluster: &engine.cluster,
            virtual_tables: self.with.tables,
            interrupt,
            lock_wait: settings.row_lock_wait,
            memory_limit_bytes: settings.memory_limit_bytes,
            spill: executor::SpillSpace::new(&engine.spill_directory),
            memory: engine.memory,
            auto_increment: settings.auto_increment,
            insert_select,
            alone_wait: None,
            explicit_auto_random: settings.explicit_auto_random,
            file: self.with.file,
            cte_max_recursion_depth: settings.cte_max_recursion_depth,
        }
    }
}
