//! A compiled statement runs: privileges, metadata locks, the runner, and once more where it may.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use functions::{EvalContext, Strictness};
use planner::CachedPlan;
use planner::plan::{InsertMode, Plan, QueryPlan, Rel, ResultColumn};
use runner::{Evaluation, Retry};
use types::{Error, Result, Value, errno};
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::attachment::{columns_of, point_of};
use crate::commit::Committer;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::diagnostics::DiagnosticsMark;
use crate::events::event::{RowChanges, StatementEvent};
use crate::reply::{Done, Outcome};
use crate::result_set::ResultSetSink;
use crate::session::Session;
use crate::statement;
use crate::statistics::Kind;
use crate::virtual_tables::ServerTables;

/// How often a statement is planned again while the schema changes.
const REPLANS_MAX: usize = 10;

/// A statement's first run, and what the session was before it.
struct FirstRun {
    retry: Retry,
    diagnostics: DiagnosticsMark,
    last_insert_id: u64,
    side_effects: (u64, u64),
}

impl Session {
    /// Clears what the last statement left for SHOW WARNINGS.
    pub(crate) fn begin_statement(&mut self) {
        self.diagnostics.begin();
        self.event = StatementEvent::default();
        self.client.refresh(&self.shared.catalog.accounts);
    }

    /// Runs a compiled statement. `replan` compiles it again, in its place, if the schema changes between
    /// plan and metadata lock.
    ///
    /// # Errors
    /// The client is gone.
    pub(crate) fn run_compiled(
        &mut self,
        compiled: &mut Compiled,
        mut params: Vec<Value>,
        format: Format,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        if let Some(guard) = &self.client.guard
            && let Err(error) = guard.check(compiled, cluster::now_us())
        {
            return Ok((Kind::Other, Err(error)));
        }
        self.start_deadline(compiled.plan());
        let mut first_run = None;
        while let Compiled::Plan(plan) = &*compiled {
            let kind = Kind::of_plan(&plan.plan);
            if let Err(error) = self.lock_current(compiled, replan) {
                return Ok((kind, Err(error)));
            }
            let Compiled::Plan(plan) = &*compiled else { break };
            self.event.traits = plan.traits;
            self.event.tables = plan.accesses.len() as u32;
            let first_run = first_run.get_or_insert_with(|| self.first_run(&plan.plan));
            let result = match &plan.plan {
                Plan::Query(query) => match self.run_point((plan, query), &mut params, format, out)? {
                    Some(result) => result,
                    None => {
                        // Rows may have been sent.
                        *first_run = None;
                        self.run_query((plan, query), &mut params, format, out)?
                    }
                },
                write => {
                    let waits = first_run
                        .as_ref()
                        .is_some_and(|run| run.retry.defers_duplicates());
                    self.run_write((kind, write), &mut params, waits, out)
                        .map(Outcome::Ok)
                }
            };
            match &result {
                Err(error) if self.runs_again(first_run, error) => {}
                _ => return Ok((kind, result)),
            }
        }
        self.diagnostics.collect_planning(self.settings.warnings);
        match &*compiled {
            Compiled::Plan(_) => Err(io::Error::other("a plan that was not run")),
            Compiled::Ddl(ddl) => {
                let done = statement::run_definition(self, ddl);
                Ok((Kind::Definition, done.map(Outcome::Ok)))
            }
            Compiled::Command(_) => self.run_command(compiled, &params, format, replan, out),
        }
    }

    /// Runs a command. If the schema has changed before a query in it got its locks, nothing has been done, and
    /// the whole command is planned again.
    fn run_command(
        &mut self,
        compiled: &mut Compiled,
        params: &[Value],
        format: Format,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        for _ in 0..REPLANS_MAX {
            let Compiled::Command(command) = &*compiled else {
                break;
            };
            self.command_params.extend_from_slice(params);
            match statement::run(self, command, format, out)? {
                (_, Err(error)) if error.code == errno::ER_SCHEMA_CHANGED => {}
                done => return Ok(done),
            }
            match replan(self) {
                Ok(again) => *compiled = again,
                Err(error) => return Ok((Kind::Other, Err(error))),
            }
        }
        Ok((Kind::Other, Err(schema_has_changed())))
    }

    /// Takes the metadata locks of a plan the account may run, planning it again while the schema changes
    /// between plan and lock. On an error, locks that no transaction holds are released at the end of the
    /// statement.
    pub(crate) fn lock_current(
        &mut self,
        compiled: &mut Compiled,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
    ) -> Result<()> {
        for _ in 0..REPLANS_MAX {
            self.diagnostics.collect_planning(self.settings.warnings);
            let Compiled::Plan(plan) = &*compiled else {
                return Ok(());
            };
            self.client.check_privileges(&plan.accesses)?;
            if plan.uses_temporary {
                self.check_no_xa()?;
            }
            self.runner().rely_on_lease()?;
            let are_held = self.check_table_locks(plan)?;
            if self
                .runner()
                .lock_tables(&plan.accesses, plan.schema_version, are_held)?
            {
                return Ok(());
            }
            self.transaction.release_statement_locks();
            *compiled = replan(self)?;
        }
        Err(schema_has_changed())
    }

    /// Fails with 4091 in an XA branch, which may outlive the session and its temporary tables.
    pub(crate) fn check_no_xa(&self) -> Result<()> {
        match self.transaction.xa.is_some() {
            true => Err(Error::new(
                errno::ER_XA_TEMP_TABLE,
                "XA: Temporary tables cannot be accessed inside XA transactions when xa_detach_on_prepare=ON",
            )),
            false => Ok(()),
        }
    }

    /// Fails where LOCK TABLES is in force and the plan uses other tables. `true`: it has locked those of the
    /// plan.
    fn check_table_locks(&mut self, plan: &CachedPlan) -> Result<bool> {
        if let Err(error) = self.table_locks.check_lease(&self.shared.engine.cluster) {
            // What the transaction has done cannot be committed any more.
            self.runner().rollback();
            return Err(error);
        }
        self.table_locks.check_plan(&plan.accesses)
    }

    /// The short way of `SELECT columns FROM t WHERE key = ?`: from the store's bytes to the packet's, with
    /// no operators and no batches in between. `None`: it is another query.
    fn run_point(
        &mut self,
        (plan, query): (&CachedPlan, &QueryPlan),
        params: &mut Vec<Value>,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Option<Result<Outcome>>> {
        /// Room for most rows.
        const ROW_BYTES: usize = 512;

        let reply = self.reply_context();
        let Some(point) = point_of(plan, &reply, self.settings.run.select_limit) else {
            return Ok(None);
        };
        let encoder = reply.row_encoder(&query.columns, format);
        let mut row = Vec::with_capacity(ROW_BYTES);
        let eval = self.eval_context(std::mem::take(params), Strictness::Warn);
        let found = self.runner().statement(|runner| {
            runner.read_row(point.table(), point.reads_one_moment(), |reader| {
                point.run(reader, &eval, &encoder, &mut row)
            })
        });
        self.diagnostics.collect(&eval, self.settings.warnings);
        *params = self.contexts.give_back(eval);
        let found = match found {
            Ok(found) => found,
            Err(error) => return Ok(Some(Err(error))),
        };
        self.last.found_rows = u64::from(found);
        self.event.is_point = true;
        self.event.is_lone_point = !self.transaction.is_open();
        self.event.rows_sent = u64::from(found);
        self.event.reads.keys = 1;
        self.track_transaction(true);
        let reply = self.reply_context();
        reply.send_columns(columns_of(plan, query, &reply), 0, out)?;
        if found {
            out.send(&row)?;
        }
        reply.send_rows_end(0, self.tracker.changes(), out)?;
        Ok(Some(Ok(Outcome::Sent)))
    }

    /// Runs a query and sends its rows.
    ///
    /// # Errors
    /// Outer: the client is gone. Inner: the statement failed, and nothing or part of a result set was sent.
    fn run_query(
        &mut self,
        (plan, query): (&CachedPlan, &QueryPlan),
        params: &mut Vec<Value>,
        format: Format,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Outcome>> {
        let eval = self.eval_context(std::mem::take(params), Strictness::Warn);
        let reply = self.reply_context();
        let mut rows = ResultSetSink::new(reply, columns_of(plan, query, &reply), format, out);
        let mut parts = self.parts();
        let with = Evaluation {
            context: &eval,
            tables: &ServerTables { view: parts.view },
            file: None,
        };
        let result = parts
            .runner
            .statement(|runner| runner.query(query, with, &mut rows));
        let sent = rows.rows();
        // The rows that OFFSET leaves out are found, too.
        self.last.found_rows = match sent {
            0 => 0,
            sent => sent.saturating_add(rows_left_out(query, &eval)),
        };
        self.event.rows_sent = sent;
        self.event.reads = eval.reads.take();
        plan.observe(self.event.reads.examined());
        self.end_of_evaluation(&eval);
        self.contexts.give_back(eval);
        let result = result.map(|counted| {
            self.last.found_rows = counted.unwrap_or(self.last.found_rows);
            self.track_transaction(true);
        });
        let reply = self.reply_context();
        let sent = rows.finish(result, &reply, self.tracker.changes())?;
        Ok(sent.map(|()| Outcome::Sent))
    }

    /// Runs INSERT, REPLACE, UPDATE or DELETE. Takes the parameters, and gives them back. `waits`: the commit
    /// is waited for, and not left to the reply.
    fn run_write(
        &mut self,
        (kind, plan): (Kind, &Plan),
        params: &mut Vec<Value>,
        waits: bool,
        out: &mut dyn PacketSink,
    ) -> Result<Done> {
        let strictness = match self.settings.sql_mode.strict {
            _ if ignores_errors(plan) => Strictness::Ignore,
            true => Strictness::Error,
            false => Strictness::Warn,
        };
        let eval = self.eval_context(std::mem::take(params), strictness);
        let (started, event) = (self.statement_started, self.event);
        self.transaction.set_defers_duplicates(waits);
        let mut parts = self.parts();
        let with = Evaluation {
            context: &eval,
            tables: &ServerTables { view: parts.view },
            file: None,
        };
        let mut deferral = parts.deferral;
        // The slow log is written by the session.
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
        self.transaction.set_defers_duplicates(false);
        self.event.reads = eval.reads.take();
        self.end_of_evaluation(&eval);
        *params = self.contexts.give_back(eval);
        let result = result?;
        self.event.changes = changes.get();
        Ok(self.write_done(plan, &result))
    }

    /// `None`: the statement does not run a second time.
    fn first_run(&mut self, plan: &Plan) -> Option<FirstRun> {
        let retry = Retry::new(&self.runner(), plan)?;
        Some(FirstRun {
            retry,
            diagnostics: self.diagnostics.mark(),
            last_insert_id: self.last.insert_id,
            side_effects: self.side_effects(),
        })
    }

    /// Whether a statement that has failed is to run again, as if it had not run before.
    fn runs_again(&mut self, first_run: &mut Option<FirstRun>, error: &Error) -> bool {
        let Some(first) = first_run else { return false };
        if first.side_effects != self.side_effects() {
            return false;
        }
        let started = self.statement_started;
        let again = first.retry.runs_again(&mut self.runner(), error, started);
        if again {
            self.diagnostics.return_to(first.diagnostics);
            self.last.insert_id = first.last_insert_id;
        }
        again
    }

    /// Another value than before: functions have left behind what cannot be taken back.
    fn side_effects(&self) -> (u64, u64) {
        (self.user_variables.assignments(), self.user_locks.uses())
    }

    /// Starts the clock of `max_execution_time`, or of the statement's own MAX_EXECUTION_TIME, which concern
    /// SELECT only.
    pub(crate) fn start_deadline(&self, plan: Option<&Plan>) {
        let limit = match plan {
            Some(Plan::Query(query)) => query.max_execution.unwrap_or(self.settings.max_execution),
            _ => Duration::ZERO,
        };
        if limit > Duration::ZERO {
            self.process.counters.add(StatusCounter::MaxExecutionTimeSet, 1);
        }
        let deadline = (limit > Duration::ZERO).then(|| Instant::now() + limit);
        self.process.interrupt.set_deadline(deadline);
    }

    /// Sends the reply, counts, and sets what ROW_COUNT() gives.
    pub(crate) fn finish_statement(
        &mut self,
        (kind, result): (Kind, Result<Outcome>),
        started: Instant,
        out: &mut dyn PacketSink,
    ) -> io::Result<Flow> {
        self.count(kind, started, result.is_err());
        if let Err(error) = &result {
            self.runner().end_of_failure(error);
        }
        match result {
            Ok(Outcome::Sent) => self.rows_sent(),
            Ok(Outcome::Ok(done)) => {
                self.last.note_affected(done.affected);
                self.send_ok(&done, out)?;
            }
            Ok(Outcome::Close(done)) => {
                self.send_ok(&done, out)?;
                return Ok(Flow::Close);
            }
            Err(error) => self.fail(&error, out)?,
        }
        Ok(Flow::Continue)
    }
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

/// IGNORE: errors of single values and rows are warnings.
fn ignores_errors(plan: &Plan) -> bool {
    match plan {
        Plan::Insert(insert) => insert.ignore,
        Plan::Update(update) => update.ignore,
        Plan::Delete(delete) => delete.ignore,
        Plan::FoundWrite(write) => write.ignore,
        Plan::Query(_) => false,
    }
}

impl Kind {
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

pub fn schema_has_changed() -> Error {
    Error::new(
        errno::ER_SCHEMA_CHANGED,
        "Information schema is changed during the execution of the statement; try again",
    )
}
