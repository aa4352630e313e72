//! Commands: what each packet of the client's asks for. COM_CHANGE_USER is `server`'s.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use types::{Charset, Collation, Error, Result, Value, errno};
use wire::capability;
use wire::command::Command;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::errors;
use crate::reply::Done;
use crate::session::Session;

impl Session {
    pub(crate) fn command(&mut self, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        self.more_results = false;
        self.answer_waits = false;
        self.process.clear_interrupt();
        let command = match Command::decode(packet, self.client.capabilities) {
            Ok(command) => command,
            Err(error) => {
                self.fail(&error, out)?;
                return Ok(Flow::Continue);
            }
        };
        match command {
            Command::Quit => return Ok(Flow::Close),
            Command::StmtClose(id) => self.close_prepared(id),
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                self.long_data(statement_id, parameter, data);
            }
            Command::Query(query) => {
                return self.query_command(query.text, out);
            }
            Command::StmtExecute(execute) => {
                let result = self.execute_prepared(&execute, out)?;
                self.answer(result, out)?;
            }
            Command::StmtFetch { statement_id, rows } => {
                let result = self.fetch(statement_id, rows, out)?;
                if let Err(error) = result {
                    self.fail(&error, out)?;
                }
            }
            Command::StmtPrepare(text) => {
                let result = self.prepare_command(text, out)?;
                if let Err(error) = result {
                    self.fail(&error, out)?;
                }
            }
            other => {
                let result = self.small_command(other, out)?;
                self.answer(result, out)?;
            }
        }
        Ok(Flow::Continue)
    }

    /// Commands without much to do. `Ok(None)`: answered already.
    fn small_command(
        &mut self,
        command: Command<'_>,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Option<Done>>> {
        let done = Ok(Ok(Some(Done::default())));
        match command {
            Command::Ping => done,
            Command::InitDb(name) => {
                self.begin_statement();
                let used = self.decode_text(name).and_then(|name| self.use_database(&name));
                Ok(used.map(|()| Some(Done::default())))
            }
            Command::ResetConnection => {
                self.reset();
                done
            }
            Command::SetMultiStatements(on) => {
                if on {
                    self.client.capabilities |= capability::MULTI_STATEMENTS;
                } else {
                    self.client.capabilities &= !capability::MULTI_STATEMENTS;
                }
                // MySQL answers with EOF; clients take an OK of DEPRECATE_EOF's form as well.
                self.send_rows_end(0, out)?;
                Ok(Ok(None))
            }
            Command::StmtReset(id) => Ok(self.reset_prepared(id).map(|()| Some(Done::default()))),
            Command::ProcessKill(id) => Ok(self.kill(u64::from(id), false).map(|()| Some(Done::default()))),
            Command::Statistics => {
                let line = self.shared.one_line();
                out.send(line.as_bytes())?;
                Ok(Ok(None))
            }
            Command::ProcessInfo => {
                let listing = self.show_process_list(false);
                Ok(self.send_listing(&listing, Format::Text, out)?.map(|()| None))
            }
            Command::FieldList { table, wildcard } => {
                self.begin_statement();
                Ok(self.field_list(table, wildcard, out)?.map(|()| None))
            }
            // FLUSH: nothing is cached that could be stale.
            Command::Refresh(_) => done,
            Command::Debug => {
                self.send_rows_end(0, out)?;
                Ok(Ok(None))
            }
            _ => Ok(Err(Error::new(errno::ER_UNKNOWN_COM_ERROR, "Unknown command"))),
        }
    }

    /// Sends what a command came to, where it has not been sent yet.
    fn answer(&mut self, result: Result<Option<Done>>, out: &mut dyn PacketSink) -> io::Result<()> {
        match result {
            Ok(Some(done)) => self.send_ok(&done, out),
            Ok(None) => Ok(()),
            Err(error) => self.fail(&error, out),
        }
    }

    /// Sends an error and keeps it for SHOW WARNINGS.
    pub(crate) fn fail(&mut self, error: &Error, out: &mut dyn PacketSink) -> io::Result<()> {
        self.note_failure(error);
        self.send_error(error, out)
    }

    /// Keeps an error for SHOW WARNINGS.
    pub(crate) fn note_failure(&mut self, error: &Error) {
        // Those of planning came before it.
        self.collect_planning_warnings();
        self.row_count = -1;
        self.diagnostics.add(types::Warning {
            level: types::WarningLevel::Error,
            code: error.code,
            message: error.message.clone(),
        });
    }

    /// Text of the client's as UTF-8.
    pub(crate) fn decode_text(&self, bytes: &[u8]) -> Result<String> {
        let decoded = wire::charset::decode(self.settings.charset_client, bytes);
        decoded.map(|text| text.into_owned()).ok_or_else(|| {
            Error::new(
                errno::ER_INVALID_CHARACTER_STRING,
                self.settings.charset_client.invalid_message(bytes),
            )
        })
    }

    /// A statement's text as UTF-8. BLOBs in `_binary'...'` literals are no text, so bytes that are no UTF-8 are carried
    /// along for the planner, which gives them back or refuses them where they stand.
    pub(crate) fn decode_statement<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, str>> {
        match self.settings.charset_client {
            Charset::Latin1 => self.decode_text(bytes).map(Cow::Owned),
            charset => Ok(syntax::carry_bytes(bytes, charset)),
        }
    }

    /// `KILL [QUERY]`.
    pub(crate) fn kill(&mut self, id: u64, query_only: bool) -> Result<()> {
        let Some(process) = self.shared.processes.find(id) else {
            return self.kill_elsewhere(id, query_only);
        };
        if !self.account.may_administer() && process.user() != self.client.user {
            return Err(errors::not_owner(id));
        }
        let own = id == self.process.id;
        match (query_only, own) {
            (true, _) => process.kill_query(),
            (false, true) => process.kill_self(),
            (false, false) => process.kill(),
        }
        if own {
            return Err(Error::new(
                errno::ER_QUERY_INTERRUPTED,
                "Query execution was interrupted",
            ));
        }
        Ok(())
    }

    /// COM_FIELD_LIST: definitions, with defaults, of a table's columns whose names are LIKE the wildcard.
    fn field_list(
        &mut self,
        table: &[u8],
        wildcard: &[u8],
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<()>> {
        let columns = self.decode_text(table).and_then(|table| {
            let wildcard = self.decode_text(wildcard)?;
            self.columns_like(&table, &wildcard)
        });
        match columns {
            Ok(columns) => {
                self.send_field_list(&columns, out)?;
                self.send_rows_end(0, out)?;
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    fn columns_like(&mut self, table: &str, wildcard: &str) -> Result<Vec<planner::plan::ResultColumn>> {
        let quoted = format!("SELECT * FROM `{}`", table.replace('`', "``"));
        let compiled = self.compile_one(&quoted)?;
        let crate::compile::Compiled::Plan(plan) = &compiled else {
            return Err(Error::internal("a SELECT that is no plan"));
        };
        self.check_plan(&plan.plan)?;
        let columns = Self::plan_columns(&plan.plan).iter();
        Ok(columns
            .filter(|c| wildcard.is_empty() || functions::like(wildcard, &c.name, Collation::DEFAULT))
            .cloned()
            .collect())
    }

    /// COM_QUERY: one statement, or several where the client may send several.
    fn query_command(&mut self, text: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let text: Arc<str> = match self.decode_statement(text) {
            Ok(text) => text.into(),
            Err(error) => {
                self.fail(&error, out)?;
                return Ok(Flow::Continue);
            }
        };
        self.process.begin("Query", Some(text.clone()), Instant::now());
        self.text(&text, out)
    }

    /// Records a statement's end in the server's statistics; one whose answer waits has not ended.
    pub(crate) fn count(&self, kind: crate::statistics::Kind, started: Instant, failed: bool) {
        if self.answer_waits {
            return;
        }
        self.shared.statistics.record(kind, started.elapsed(), failed);
    }

    /// A value as a session keeps it in ROW_COUNT().
    pub(crate) fn note_affected(&mut self, affected: u64) {
        self.row_count = i64::try_from(affected).unwrap_or(i64::MAX);
    }
}

/// The value of a KILL's expression.
pub fn connection_number(value: &Value) -> Result<u64> {
    match value {
        Value::Int(id) if *id >= 0 => Ok(*id as u64),
        Value::UInt(id) => Ok(*id),
        Value::String(text) => text.trim().parse().map_err(|_| errors::unknown_thread(0)),
        _ => Err(errors::unknown_thread(0)),
    }
}
