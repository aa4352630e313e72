//! A statement is prepared: checked, and its result's columns and its parameters' types found.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use functions::Strictness;
use planner::command::Command;
use planner::plan::ResultColumn;
use syntax::Parsed;
use syntax::ast::TransactionStatement;
use types::{Collation, Error, Result, SqlType, errno};
use wire::connection::PacketSink;

use super::Statement;
use crate::compile::Parameters;
use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::execute::plan_columns;
use crate::session::Session;
use crate::statement;
use crate::statistics::Kind;

/// A statement that was found to be right.
pub struct Checked {
    text: Arc<str>,
    parsed: Parsed,
    columns: Vec<ResultColumn>,
    parameter_types: Vec<Option<SqlType>>,
}

impl Checked {
    /// `database`: the one that is selected now.
    pub fn into_statement(self, database: Option<Arc<str>>) -> Statement {
        let types = self.parameter_types;
        Statement {
            text: self.text,
            parsed: Arc::new(self.parsed),
            database,
            parameter_types: match types.iter().any(Option::is_some) {
                true => types.into(),
                false => Arc::default(),
            },
        }
    }
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(crate) fn prepare_command(
        &mut self,
        text: &[u8],
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<()>> {
        let started = Instant::now();
        self.begin_statement();
        self.process.counters.add(StatusCounter::StmtPrepare, 1);
        let checked = self.decode_statement(text).and_then(|text| {
            self.log_command("Prepare", &text);
            self.prepare(&text)
        });
        self.count(Kind::Prepare, started, checked.is_err());
        let mut checked = match checked {
            Ok(checked) => checked,
            Err(error) => return Ok(Err(error)),
        };
        let columns = std::mem::take(&mut checked.columns);
        let collation = self.settings.collation_connection;
        let types = checked.parameter_types.iter();
        let parameters: Vec<ResultColumn> = types.map(|ty| parameter_column(*ty, collation)).collect();
        let statement = checked.into_statement(self.database.clone());
        let id = match self.prepared.add(statement, self.prepared_max()) {
            Ok(id) => id,
            Err(error) => return Ok(Err(error)),
        };
        let ok = wire::prepare_ok::PrepareOk {
            statement_id: id,
            columns: columns.len() as u16,
            parameters: parameters.len() as u16,
            warnings: u16::try_from(self.diagnostics.count).unwrap_or(u16::MAX),
        };
        out.send_with(&mut |packet| ok.encode(packet))?;
        let reply = self.reply_context();
        for definitions in [parameters, columns].iter().filter(|all| !all.is_empty()) {
            reply.send_definitions(definitions, out)?;
            reply.send_metadata_end(0, out)?;
        }
        Ok(Ok(()))
    }

    /// `max_prepared_stmt_count`
    pub(crate) fn prepared_max(&self) -> u64 {
        self.shared.variables.integer("max_prepared_stmt_count")
    }

    /// Checks a statement and finds its result's columns.
    pub(crate) fn prepare(&mut self, text: &str) -> Result<Checked> {
        if let Some(guard) = &self.client.guard {
            guard.check_password()?;
        }
        let (text, parsed) = self.parse_single(text)?;
        if parsed.parameters > usize::from(u16::MAX) {
            return Err(Error::new(
                errno::ER_PS_MANY_PARAM,
                "Prepared statement contains too many placeholders",
            ));
        }
        if !parsed.statement.commits_implicitly() {
            self.check_read_write(&parsed.statement)?;
        }
        let types = RefCell::new(vec![None; parsed.parameters]);
        let columns = match self.compile(&parsed, Parameters::Untyped(Some(&types)))? {
            Compiled::Plan(plan) => {
                self.client.check_privileges(&plan.accesses)?;
                plan_columns(&plan.plan).to_vec()
            }
            Compiled::Ddl(_) => Vec::new(),
            Compiled::Command(command) => {
                refuse_unpreparable(&command)?;
                self.command_columns(&command)
            }
        };
        if columns.len() > usize::from(u16::MAX) {
            // A result may have more columns; the packet that announces it counts with 16 bits.
            return Err(Error::new(errno::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        Ok(Checked {
            text,
            parsed,
            columns,
            parameter_types: types.into_inner(),
        })
    }

    /// Result columns of a SHOW or EXPLAIN, found by running it: they do not depend on its rows.
    fn command_columns(&mut self, command: &Command) -> Vec<ResultColumn> {
        let listing = match command {
            Command::Show(show) => {
                let eval = self.eval_context(Vec::new(), Strictness::Warn);
                statement::show::listing(self, show, &eval)
            }
            Command::Explain(explained) => statement::explain::listing(self, explained),
            _ => return Vec::new(),
        };
        listing
            .map(|listing| listing.result_columns())
            .unwrap_or_default()
    }

    fn parse_single(&self, text: &str) -> Result<(Arc<str>, Parsed)> {
        let mut parsed = syntax::parse(text, &self.settings.sql_mode)?;
        if parsed.len() > 1 {
            return Err(syntax::syntax_error(text, parsed[1].text.start));
        }
        let parsed = parsed
            .pop()
            .ok_or_else(|| Error::new(errno::ER_EMPTY_QUERY, "Query was empty"))?;
        Ok((text.into(), parsed))
    }
}

/// The definition of a parameter, as the client gets it.
fn parameter_column(ty: Option<SqlType>, collation: Collation) -> ResultColumn {
    let ty = ty.unwrap_or_else(|| SqlType::varchar(UNTYPED_CHARS, collation));
    ResultColumn::unnamed("?", ty, true)
}

/// To MySQL a parameter that could be anything is a VARCHAR of this length.
const UNTYPED_CHARS: u32 = 16_383;

/// Statements that MySQL does not prepare either (manual 13.5 "SQL Syntax Permitted in Prepared Statements").
fn refuse_unpreparable(command: &Command) -> Result<()> {
    use planner::command::Command::*;
    match command {
        Transaction(TransactionStatement::Commit { .. } | TransactionStatement::Rollback { .. }) => Ok(()),
        Transaction(_)
        | Use { .. }
        | Prepare { .. }
        | Execute { .. }
        | Deallocate { .. }
        | LockTables { .. }
        | UnlockTables
        | LoadData(_) => Err(Error::new(
            errno::ER_UNSUPPORTED_PS,
            "This command is not supported in the prepared statement protocol yet",
        )),
        _ => Ok(()),
    }
}
