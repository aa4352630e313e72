//! COM_STMT_EXECUTE, and COM_STMT_FETCH of the cursor that it may leave.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use functions::Strictness;
use memory::Account;
use planner::command::Command;
use planner::plan::Plan;
use runner::{Collected, Evaluation};
use syntax::Parsed;
use syntax::ast::{SqlCommand, TransactionStatement};
use types::{Error, Result, SqlType, Value};
use wire::capability;
use wire::command::{ParameterContext, StmtExecute};
use wire::connection::PacketSink;
use wire::row::Format;
use wire::status;

use super::cursor::Cursor;
use super::parameter_types::{self, Protocol};
use super::{LastPlan, ParameterTypes};
use crate::attachment::columns_of;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::reply::{Done, Outcome};
use crate::session::Session;
use crate::statistics::Kind;
use crate::virtual_tables::ServerTables;

const EXECUTE: &str = "mysqld_stmt_execute";

/// What one execution of a prepared statement is made of.
struct Execution {
    text: Arc<str>,
    database: Option<Arc<str>>,
    values: Vec<Value>,
    types: Vec<SqlType>,
    /// The plan of the execution before, if it was for the same types in the same environment. It is away
    /// from the prepared statement while it runs: one more owner would have to be counted in a cache line
    /// that all connections share.
    plan: Option<Compiled>,
    cursor: bool,
    /// The statement, if its hints set variables.
    hinted: Option<Arc<Parsed>>,
    /// Of parameters that were sent ahead.
    _memory: Option<Account>,
}

impl Session {
    /// COM_STMT_EXECUTE.
    pub(crate) fn execute_prepared(
        &mut self,
        execute: &StmtExecute,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Option<Done>>> {
        let started = Instant::now();
        self.statement_started = started;
        self.begin_statement();
        self.process.counters.add(StatusCounter::StmtExecute, 1);
        let context = ParameterContext {
            capabilities: self.client.info.capabilities,
            client: self.settings.charset_client,
            collation: self.settings.collation_connection,
        };
        let execution = match self.read_execution(execute, &context) {
            Ok(execution) => execution,
            Err(error) => {
                self.count(Kind::Other, started, true);
                return Ok(Err(error));
            }
        };
        self.process
            .begin("Execute", Some(execution.text.clone()), started);
        self.log_execution(&execution.text, &execution.values, &execution.types);
        let database = execution.database.clone();
        let current = std::mem::replace(&mut self.database, database.clone());
        let result = match execution.hinted.clone() {
            None => self.run_execution(execute.statement_id, execution, out),
            Some(parsed) => self.with_hinted_variables(&parsed.set_vars, |session| {
                session.run_execution(execute.statement_id, execution, out)
            }),
        };
        self.restore_database(current, &database);
        let (kind, result) = result?;
        self.count(kind, started, result.is_err());
        Ok(self.executed(result))
    }

    fn run_execution(
        &mut self,
        id: u32,
        execution: Execution,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        let Execution {
            text,
            values,
            types,
            plan,
            ..
        } = execution;
        let environment = self.settings.plan_environment;
        let compiled = match plan {
            Some(Compiled::Plan(plan)) if !self.is_current(&plan) => {
                self.compile_execution(id, &types, &values)
            }
            Some(plan) => Ok(plan),
            None => self
                .enter_execution(id)
                .and_then(|()| self.compile_execution(id, &types, &values)),
        };
        let mut compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return Ok((Kind::Other, Err(error))),
        };
        let command = match &compiled {
            Compiled::Plan(_) => None,
            _ => self.prepared_command(id),
        };
        self.observe(&compiled, &text, command);
        let replan = |session: &mut Self| session.compile_execution(id, &types, &[]);
        let result = if execution.cursor
            && let Compiled::Plan(plan) = &compiled
            && matches!(plan.plan, Plan::Query(_))
        {
            let opened = self.open_cursor(id, &mut compiled, values, &replan, out)?;
            (Kind::Select, opened.map(|()| Outcome::Sent))
        } else {
            self.run_compiled(&mut compiled, values, Format::Binary, &replan, out)?
        };
        if is_reusable(&compiled)
            && let Ok(prepared) = self.prepared.get(id, EXECUTE)
        {
            prepared.plan = Some(LastPlan {
                compiled,
                types,
                environment,
            });
        }
        Ok(result)
    }

    /// The kind of a prepared statement.
    fn prepared_command(&self, id: u32) -> Option<SqlCommand> {
        let prepared = self.prepared.find(id, EXECUTE).ok()?;
        prepared.statement.parsed.statement.command()
    }

    /// What comes before an execution is compiled. An execution with a plan at hand is no definition.
    fn enter_execution(&mut self, id: u32) -> Result<()> {
        let parsed = self.prepared.get(id, EXECUTE)?.statement.parsed.clone();
        self.enter_statement(&parsed.statement)
    }

    /// The plan for parameters of these types, from the plan cache if it is there.
    fn compile_execution(&mut self, id: u32, types: &[SqlType], values: &[Value]) -> Result<Compiled> {
        let statement = &self.prepared.find(id, EXECUTE)?.statement;
        self.compile_prepared(&statement.parsed, &statement.text, types, values)
    }

    /// Selects the database again that was selected before a prepared statement ran in its own; unless the
    /// statement has dropped it.
    pub(crate) fn restore_database(&mut self, current: Option<Arc<str>>, of_statement: &Option<Arc<str>>) {
        let dropped = self.database.is_none() && of_statement.is_some() && *of_statement == current;
        if !dropped {
            self.database = current;
        }
        if self.database != *of_statement {
            self.process.set_database(self.database.clone());
        }
    }

    fn executed(&mut self, result: Result<Outcome>) -> Result<Option<Done>> {
        if let Err(error) = &result {
            self.runner().end_of_failure(error);
        }
        Ok(match result? {
            Outcome::Sent => {
                self.rows_sent();
                None
            }
            Outcome::Ok(done) | Outcome::Close(done) => {
                self.last.note_affected(done.affected);
                Some(done)
            }
        })
    }

    fn read_execution(&mut self, execute: &StmtExecute, context: &ParameterContext) -> Result<Execution> {
        let id = execute.statement_id;
        let mut prepared = self.prepared.get(id, EXECUTE)?;
        prepared.cursor = None;
        prepared.sent_ahead.check()?;
        let parsed = &prepared.statement.parsed;
        let sent_ahead = &mut prepared.sent_ahead.values;
        let mut bound = execute.parameters(parsed.parameters, &mut prepared.bound, sent_ahead, context)?;
        parameter_types::convert_row_counts(
            &parsed.row_counts,
            Protocol::Binary,
            &mut bound.values,
            &mut bound.types,
        )?;
        if !prepared.statement.parameter_types.is_empty() {
            let expected = prepared.statement.parameter_types.clone();
            self.convert_parameters(&expected, &mut bound.values, &mut bound.types);
            prepared = self.prepared.get(id, EXECUTE)?;
        }
        let environment = self.settings.plan_environment;
        let cursor = execute.wants_cursor()?;
        let plan = prepared.plan.take();
        // Hints may change the environment.
        let is_same = |last: &LastPlan| last.environment == environment && last.types == bound.types;
        let plan = plan.filter(|last| is_same(last) && prepared.statement.parsed.set_vars.is_empty());
        Ok(Execution {
            plan: plan.map(|last| last.compiled),
            text: prepared.statement.text.clone(),
            database: prepared.statement.database.clone(),
            hinted: match prepared.statement.parsed.set_vars.is_empty() {
                true => None,
                false => Some(prepared.statement.parsed.clone()),
            },
            values: bound.values,
            types: bound.types,
            cursor,
            _memory: prepared.sent_ahead.take_memory(),
        })
    }

    /// Converts values to the types of their parameters.
    pub(crate) fn convert_parameters(
        &mut self,
        expected: &ParameterTypes,
        values: &mut [Value],
        types: &mut [SqlType],
    ) {
        if !expected.is_empty() {
            let eval = self.eval_context(Vec::new(), Strictness::Warn);
            parameter_types::convert(expected, values, types, &eval);
        }
    }

    /// Runs a query whose rows the client will fetch, and sends the columns.
    fn open_cursor(
        &mut self,
        id: u32,
        compiled: &mut Compiled,
        params: Vec<Value>,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<()>> {
        self.start_deadline(compiled.plan());
        if let Err(error) = self.lock_current(compiled, replan) {
            return Ok(Err(error));
        }
        let Compiled::Plan(plan) = compiled else {
            return Ok(Err(Error::internal("a cursor over no query")));
        };
        let Plan::Query(query) = &plan.plan else {
            return Ok(Err(Error::internal("a cursor over no query")));
        };
        let (memory, bytes_max) = (self.shared.engine.memory, self.settings.run.memory_limit_bytes);
        let mut rows = Collected::limited(memory, bytes_max);
        let eval = self.eval_context(params, Strictness::Warn);
        let mut parts = self.parts();
        let with = Evaluation {
            context: &eval,
            tables: &ServerTables { view: parts.view },
            file: None,
        };
        let run = parts
            .runner
            .statement(|runner| runner.query(query, with, &mut rows));
        self.end_of_evaluation(&eval);
        let counted = match run {
            Ok(counted) => counted,
            Err(error) => return Ok(Err(error)),
        };
        self.last.found_rows = counted.unwrap_or(rows.rows as u64);
        let reply = self.reply_context();
        reply.send_columns(columns_of(plan, query, &reply), status::CURSOR_EXISTS, out)?;
        if self.client.has(capability::DEPRECATE_EOF) {
            // The packet after the definitions is the only one that can say that there is a cursor.
            self.send_rows_end(status::CURSOR_EXISTS, out)?;
        }
        if let Ok(prepared) = self.prepared.get(id, EXECUTE) {
            prepared.cursor = Some(Cursor::new(query.columns.clone(), rows));
        }
        Ok(Ok(()))
    }

    /// COM_STMT_FETCH: the next rows of a cursor.
    pub(crate) fn fetch(&mut self, id: u32, count: u32, out: &mut dyn PacketSink) -> io::Result<Result<()>> {
        const FETCH: &str = "mysqld_stmt_fetch";
        let mut cursor = match self
            .prepared
            .get(id, FETCH)
            .map(|prepared| prepared.cursor.take())
        {
            Ok(Some(cursor)) => cursor,
            Ok(None) => {
                let message = format!("The statement ({id}) has no open cursor.");
                return Ok(Err(Error::new(1421, message)));
            }
            Err(error) => return Ok(Err(error)),
        };
        let encoder = self.reply_context().row_encoder(&cursor.columns, Format::Binary);
        let mut left = count;
        while left > 0 {
            let Some((batch, first)) = cursor.take_current() else {
                break;
            };
            let last = batch.num_rows().min(first + left as usize);
            let rows = match encoder.batch(&batch) {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error)),
            };
            for row in first..last {
                out.send_with(&mut |packet| rows.encode(row, packet))?;
            }
            left -= (last - first) as u32;
            cursor.put_current(batch, last);
        }
        let more = cursor.has_more();
        let flags = status::CURSOR_EXISTS | if more { 0 } else { status::LAST_ROW_SENT };
        self.send_rows_end(flags, out)?;
        if more && let Ok(prepared) = self.prepared.get(id, FETCH) {
            prepared.cursor = Some(cursor);
        }
        Ok(Ok(()))
    }
}

/// Whether what a statement was compiled to is good for its next execution.
fn is_reusable(compiled: &Compiled) -> bool {
    match compiled {
        Compiled::Plan(plan) => plan.cacheable,
        // They name nothing that could have changed by then.
        Compiled::Command(command) => {
            matches!(
                **command,
                Command::Transaction(
                    TransactionStatement::Commit { .. } | TransactionStatement::Rollback { .. }
                )
            )
        }
        Compiled::Ddl(_) => false,
    }
}
