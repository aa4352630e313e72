//! COM_QUERY: statements as text.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use planner::command::Command;
use runner::Characteristics;
use syntax::ast::{ServerShow, ShowStatement, Statement};
use syntax::{Normalized, Parsed};
use types::{Result, Value};
use wire::capability;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::compile::Parameters;
use crate::compiled::Compiled;
use crate::execute::schema_has_changed;
use crate::recent_texts::{PlanScope, RecentText};
use crate::reply::Outcome;
use crate::session::Session;
use crate::statement;
use crate::statistics::Kind;

impl Session {
    /// Runs the statements of a COM_QUERY and sends a reply to each; the first that fails is the last.
    pub(crate) fn text(&mut self, text: &Arc<str>, out: &mut dyn PacketSink) -> io::Result<Flow> {
        let started = Instant::now();
        self.statement_started = started;
        if let Some(statement) = syntax::parse_transaction_word(text) {
            self.start_deadline(None);
            self.begin_statement();
            self.observe_word(text, statement.command());
            let command = Command::Transaction(statement);
            let result = match self
                .client
                .guard
                .as_ref()
                .map_or(Ok(()), |guard| guard.check_password())
            {
                Ok(()) => statement::run(self, &command, Format::Text, out)?,
                Err(error) => (Kind::Other, Err(error)),
            };
            return self.finish_statement(result, started, out);
        }
        match self.find_recent(text) {
            Ok(Some((mut recent, params))) => {
                self.begin_statement();
                let mut compiled = Compiled::Plan(recent.plan);
                self.observe(&compiled, text, None);
                let template = &recent.template;
                let replan = |session: &mut Self| {
                    let found = session.find_normalized(template)?;
                    found.map(Compiled::Plan).ok_or_else(schema_has_changed)
                };
                let result = self.run_compiled(&mut compiled, params, Format::Text, &replan, out)?;
                if let Compiled::Plan(plan) = compiled {
                    recent.plan = plan;
                    self.recent_texts.put(recent);
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
                self.observe_text(text, None);
                return self.finish_statement((Kind::Other, Err(error)), started, out);
            }
        };
        if parsed.len() > 1 && !self.client.has(capability::MULTI_STATEMENTS) {
            self.begin_statement();
            let error = syntax::syntax_error(text, parsed[1].text.start);
            return self.finish_statement((Kind::Other, Err(error)), started, out);
        }
        self.statements(text, &parsed, out)
    }

    /// The shape, the plan and the literals of a text whose plan is shared by all texts that differ in
    /// literals only. `None`: the text has to be parsed.
    fn find_recent(&mut self, text: &str) -> Result<Option<(Box<RecentText>, Vec<Value>)>> {
        // The bytes of `_binary'...'` are those that the client sent, which only the planner can restore.
        if !self.settings.charset_client.is_utf8()
            && !text.is_ascii()
            && text.to_ascii_lowercase().contains("_binary")
        {
            return Ok(None);
        }
        let mode = &self.settings.sql_mode;
        let scope = PlanScope {
            database: self.database.clone(),
            environment: self.settings.plan_environment,
        };
        if let Some((mut recent, params)) = self.recent_texts.take(text, mode, &scope) {
            if !self.is_current(&recent.plan) {
                let Some(plan) = self.find_normalized(&recent.template)? else {
                    return Ok(None);
                };
                recent.plan = plan;
            }
            return Ok(Some((recent, params)));
        }
        let collation = self.settings.collation_connection;
        let Some(Normalized { template, params }) = syntax::normalize(text, mode, collation) else {
            return Ok(None);
        };
        let found = self.find_normalized(&template)?;
        Ok(found.map(|plan| {
            let recent = RecentText {
                template,
                plan,
                scope,
            };
            (Box::new(recent), params)
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
        // The deadline of the statement before is over.
        self.start_deadline(None);
        if !shows_diagnostics(&parsed.statement) {
            self.begin_statement();
        }
        self.observe_text(&text[parsed.text.clone()], parsed.statement.command());
        if parsed.parameters > 0 {
            return Ok((Kind::Other, Err(syntax::syntax_error_at_parameter(text, parsed))));
        }
        self.with_hinted_variables(&parsed.set_vars, |session| session.run_parsed(parsed, out))
    }

    fn run_parsed(
        &mut self,
        parsed: &Parsed,
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        let compiled = match self.enter_statement(&parsed.statement) {
            Ok(()) => self.compile(parsed, Parameters::Untyped(None)),
            Err(error) => Err(error),
        };
        let mut compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return Ok((Kind::Other, Err(error))),
        };
        let replan = |session: &mut Self| session.compile(parsed, Parameters::Untyped(None));
        self.run_compiled(&mut compiled, Vec::new(), Format::Text, &replan, out)
    }
}

impl Session {
    /// What a statement does to the open transaction before it is looked at any closer: some commit it, and a
    /// READ ONLY one refuses others. Both come before names are resolved and privileges checked, as in MySQL,
    /// so that a definition that fails has committed all the same.
    ///
    /// # Errors
    /// 1792 in a READ ONLY transaction; those of the commit.
    pub(crate) fn enter_statement(&mut self, statement: &Statement) -> Result<()> {
        if statement.commits_implicitly() {
            self.commit_implicitly()?;
        }
        self.check_read_write(statement)
    }

    /// Fails with 1792 for a statement that a READ ONLY transaction refuses. Rows of temporary tables may be written:
    /// where there are such, the runner decides.
    pub(crate) fn check_read_write(&self, statement: &Statement) -> Result<()> {
        let may_be_temporary = matches!(
            statement,
            Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
                | Statement::LoadData(_)
                | Statement::Query(_)
        );
        let is_late = may_be_temporary && !self.temporary.is_empty();
        match statement.needs_read_write() && !is_late {
            true => self.transaction.check_read_write(self.settings.run.read_only),
            false => Ok(()),
        }
    }

    /// A commit that no statement has asked for. What SET TRANSACTION asked for the next transaction is over
    /// as well.
    pub(crate) fn commit_implicitly(&mut self) -> Result<()> {
        self.transaction.check_outside_xa()?;
        self.runner().commit()?;
        self.transaction.next = Characteristics::default();
        Ok(())
    }
}

/// SHOW WARNINGS and SHOW COUNT(*) WARNINGS read the diagnostics area, and leave it as it is.
fn shows_diagnostics(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Show(ShowStatement::OfServer(
            ServerShow::Warnings { .. } | ServerShow::CountWarnings { .. }
        ))
    )
}
