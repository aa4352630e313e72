//! COM_QUERY: statements as text.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use planner::command::Command;
use planner::plan::{InsertMode, Plan};
use syntax::ast::{ServerShow, ShowStatement, Statement};
use syntax::{Normalized, Parsed};
use types::{Error, Result, Value, errno};
use wire::capability;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::compile::{Compiled, Parameters};
use crate::known_texts::{KnownText, SettledBy};
use crate::run::Outcome;
use crate::session::Session;
use crate::statistics::Kind;

/// How often a statement is planned again when the schema keeps moving under it.
const REPLANS_MAX: usize = 10;

impl Session {
    /// Runs the statements of a COM_QUERY and sends an answer for each; the first that fails is the last.
    pub(crate) fn text(&mut self, text: &Arc<str>, out: &mut dyn PacketSink) -> io::Result<Flow> {
        let started = Instant::now();
        self.statement_started = started;
        if let Some(statement) = syntax::parse_transaction_word(text) {
            self.start_deadline(None);
            self.begin_statement();
            let result = self.run_command(&Command::Transaction(statement), Format::Text, out)?;
            return self.finish_statement(result, started, out);
        }
        match self.find_known(text) {
            Ok(Some((mut known, params))) => {
                self.begin_statement();
                let mut compiled = Compiled::Plan(known.plan);
                let template = &known.template;
                let replan = |session: &mut Self| {
                    let found = session.find_normalized(template)?;
                    found.map(Compiled::Plan).ok_or_else(schema_moves)
                };
                let result = self.run_compiled(&mut compiled, params, Format::Text, &replan, out)?;
                if let Compiled::Plan(plan) = compiled {
                    known.plan = plan;
                    self.known_texts.keep(known);
                }
                return self.finish_statement(result, started, out);
            }
            Ok(None) => {}
            Err(error) => return self.finish_statement((Kind::Other, Err(error)), started, out),
        }
        let parsed = match syntax::parse(text, &self.settings.sql_mode) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.begin_statement();
                return self.finish_statement((Kind::Other, Err(error)), started, out);
            }
        };
        if parsed.len() > 1 && !self.has(capability::MULTI_STATEMENTS) {
            self.begin_statement();
            let error = syntax::syntax_error(text, parsed[1].text.start);
            return self.finish_statement((Kind::Other, Err(error)), started, out);
        }
        self.statements(text, &parsed, out)
    }

    /// The shape, the plan and the literals of a text whose plan is shared by all that differ in literals only. `None`: it is
    /// to be parsed.
    fn find_known(&mut self, text: &str) -> Result<Option<(Box<KnownText>, Vec<Value>)>> {
        let mode = &self.settings.sql_mode;
        let settled_by = SettledBy {
            database: self.database.clone(),
            environment: self.settings.plan_environment,
        };
        if let Some((mut known, params)) = self.known_texts.take(text, mode, &settled_by) {
            if !self.is_current(&known.plan) {
                let Some(plan) = self.find_normalized(&known.template)? else {
                    return Ok(None);
                };
                known.plan = plan;
            }
            return Ok(Some((known, params)));
        }
        let collation = self.settings.collation_connection;
        let Some(Normalized { template, params }) = syntax::normalize(text, mode, collation) else {
            return Ok(None);
        };
        let found = self.find_normalized(&template)?;
        Ok(found.map(|plan| {
            let known = KnownText {
                template,
                plan,
                settled_by,
            };
            (Box::new(known), params)
        }))
    }

    fn statements(
        &mut self,
        text: &Arc<str>,
        parsed: &[Parsed],
        out: &mut dyn PacketSink,
    ) -> io::Result<Flow> {
        for (position, statement) in parsed.iter().enumerate() {
            let started = Instant::now();
            self.statement_started = started;
            self.more_results = position + 1 < parsed.len();
            let result = self.statement(text, statement, out)?;
            let failed = result.1.is_err();
            if failed {
                self.more_results = false;
            }
            let flow = self.finish_statement(result, started, out)?;
            if failed || flow == Flow::Close {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue)
    }

    fn statement(
        &mut self,
        text: &Arc<str>,
        parsed: &Parsed,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        // That of the statement before is over.
        self.start_deadline(None);
        if !shows_diagnostics(&parsed.statement) {
            self.begin_statement();
        }
        if parsed.parameters > 0 {
            return Ok((Kind::Other, Err(syntax::syntax_error_at_parameter(text, parsed))));
        }
        let compiled = match self.enter_statement(&parsed.statement) {
            Ok(()) => self.compile(parsed, Parameters::Unknown(None)),
            Err(error) => Err(error),
        };
        let mut compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return Ok((Kind::Other, Err(error))),
        };
        let replan = |session: &mut Self| session.compile(parsed, Parameters::Unknown(None));
        self.run_compiled(&mut compiled, Vec::new(), Format::Text, &replan, out)
    }

    /// Clears what the last statement left for SHOW WARNINGS.
    pub(crate) fn begin_statement(&mut self) {
        self.diagnostics.begin();
        drop(self.planning_warnings.take());
        self.refresh_account();
    }

    /// Runs a compiled statement. `replan` compiles it again, in its place, for when the schema moves between plan and metadata lock.
    pub(crate) fn run_compiled(
        &mut self,
        compiled: &mut Compiled,
        mut params: Vec<Value>,
        format: Format,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        self.start_deadline(compiled.plan());
        let mut rerun = None;
        while let Compiled::Plan(plan) = &*compiled {
            let kind = kind_of(&plan.plan);
            if let Err(error) = self.lock_current(compiled, replan) {
                return Ok((kind, Err(error)));
            }
            let Compiled::Plan(plan) = &*compiled else { break };
            let rerun = rerun.get_or_insert_with(|| self.may_rerun());
            let result = match (self.point_of(plan), &plan.plan) {
                (Some(point), Plan::Query(query)) => {
                    self.run_point((plan, query), point, &mut params, format, out)?
                }
                (None, Plan::Query(_)) => {
                    // Rows may have been sent.
                    *rerun = None;
                    self.run_plan(plan, &mut params, format, out)?
                }
                _ => self.run_plan(plan, &mut params, format, out)?,
            };
            match &result {
                Err(error) if self.runs_again(rerun, error) => {}
                _ => return Ok((kind, result)),
            }
        }
        self.collect_planning_warnings();
        match &*compiled {
            Compiled::Plan(_) => Err(io::Error::other("a plan that was not run")),
            Compiled::Ddl(ddl) => Ok((Kind::Definition, self.run_ddl(ddl).map(Outcome::Ok))),
            Compiled::Command(command) => {
                self.command_params = params;
                self.run_command(command, format, out)
            }
        }
    }

    /// Takes the metadata locks of a plan the account may run, planning it again while the schema moves between plan
    /// and lock. On an error, locks that no transaction keeps are released by whoever ends the statement.
    pub(crate) fn lock_current(
        &mut self,
        compiled: &mut Compiled,
        replan: &dyn Fn(&mut Self) -> Result<Compiled>,
    ) -> Result<()> {
        for _ in 0..REPLANS_MAX {
            self.collect_planning_warnings();
            let Compiled::Plan(plan) = &*compiled else {
                return Ok(());
            };
            self.check_plan(&plan.plan)?;
            if self.lock_tables(&plan.plan, plan.schema_version)? {
                return Ok(());
            }
            if !self.transaction.in_transaction() {
                self.table_locks.release_all();
            }
            *compiled = replan(self)?;
        }
        Err(schema_moves())
    }

    /// Answers, counts, and keeps what ROW_COUNT() gives.
    pub(crate) fn finish_statement(
        &mut self,
        (kind, result): (Kind, Result<Outcome>),
        started: Instant,
        out: &mut dyn PacketSink,
    ) -> io::Result<Flow> {
        self.count(kind, started, result.is_err());
        if let Err(error) = &result {
            self.end_of_failure(error);
        }
        match result {
            Ok(Outcome::Sent) => self.rows_sent(),
            Ok(Outcome::Ok(done)) => {
                self.note_affected(done.affected);
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

/// SHOW WARNINGS and its like read the diagnostics area, and leave it as it is.
fn shows_diagnostics(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Show(ShowStatement::OfServer(
            ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. }
        ))
    )
}

pub(crate) fn kind_of(plan: &Plan) -> Kind {
    match plan {
        Plan::Query(_) => Kind::Select,
        Plan::Insert(insert) if matches!(insert.mode, InsertMode::Replace) => Kind::Replace,
        Plan::Insert(_) => Kind::Insert,
        Plan::Update(_) => Kind::Update,
        Plan::Delete(_) => Kind::Delete,
    }
}

pub(crate) fn schema_moves() -> Error {
    Error::new(
        errno::ER_SCHEMA_CHANGED,
        "Information schema is changed during the execution of the statement; try again",
    )
}
