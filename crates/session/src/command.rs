//! Commands: what each packet from the client asks for. `server` handles COM_CHANGE_USER.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use syntax::ast::SqlCommand;
use types::{Collation, Error, Result, errno};
use wire::capability;
use wire::command::Command;
use wire::connection::{Flow, PacketSink};
use wire::row::Format;

use crate::compiled::Compiled;
use crate::counters::StatusCounter;
use crate::execute::plan_columns;
use crate::reply::Done;
use crate::session::Session;
use crate::statement::{kill, show};

impl Session {
    /// Runs one command packet and sends its reply.
    ///
    /// # Errors
    /// The client is gone.
    pub fn handle(&mut self, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        let flow = self.command(packet, out)?;
        if !self.reply_waits {
            let now = self.ended.take().unwrap_or_else(Instant::now);
            self.process.end(now);
        }
        if self.process.is_killed() {
            return Ok(Flow::Close);
        }
        Ok(flow)
    }

    fn command(&mut self, packet: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow> {
        self.more_results = false;
        self.reply_waits = false;
        self.process.clear_interrupt();
        let command = match Command::decode(packet, self.client.info.capabilities) {
            Ok(command) => command,
            Err(error) => {
                self.fail(&error, out)?;
                return Ok(Flow::Continue);
            }
        };
        match command {
            Command::Quit => return Ok(Flow::Close),
            Command::StmtClose(id) => {
                self.process.counters.add(StatusCounter::StmtClose, 1);
                self.prepared.close(id);
            }
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                self.process.counters.add(StatusCounter::StmtSendLongData, 1);
                let most = self.settings.max_allowed_packet;
                let memory = self.shared.engine.memory;
                self.prepared
                    .long_data(statement_id, parameter, data, most, memory);
            }
            Command::Query(query) => {
                return self.query_command(query.text, out);
            }
            Command::StmtExecute(execute) => {
                let result = self.execute_prepared(&execute, out)?;
                self.send_result(result, out)?;
            }
            Command::StmtFetch { statement_id, rows } => {
                self.process.counters.add(StatusCounter::StmtFetch, 1);
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
                self.send_result(result, out)?;
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
            Command::Ping => {
                self.process.counters.count_beside(SqlCommand::AdminCommands);
                done
            }
            Command::InitDb(name) => {
                self.begin_statement();
                self.process.counters.count_command(SqlCommand::ChangeDatabase);
                let used = self.decode_text(name).and_then(|name| {
                    self.log_command("Init DB", &name);
                    self.use_database(&name)
                });
                Ok(used.map(|()| Some(Done::default())))
            }
            Command::ResetConnection => {
                self.reset();
                done
            }
            Command::SetMultiStatements(on) => {
                if on {
                    self.client.info.capabilities |= capability::MULTI_STATEMENTS;
                } else {
                    self.client.info.capabilities &= !capability::MULTI_STATEMENTS;
                }
                // MySQL answers with EOF; clients take an OK of DEPRECATE_EOF's form as well.
                self.send_rows_end(0, out)?;
                Ok(Ok(None))
            }
            Command::StmtReset(id) => {
                self.process.counters.add(StatusCounter::StmtReset, 1);
                Ok(self.prepared.reset(id).map(|()| Some(Done::default())))
            }
            Command::ProcessKill(id) => {
                Ok(kill::kill(self, u64::from(id), false).map(|()| Some(Done::default())))
            }
            Command::Statistics => {
                let line = self.shared.one_line();
                out.send(line.as_bytes())?;
                Ok(Ok(None))
            }
            Command::ProcessInfo => {
                let listing = show::process_list(self, false);
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

    /// Sends the reply, where it has not been sent yet.
    fn send_result(&mut self, result: Result<Option<Done>>, out: &mut dyn PacketSink) -> io::Result<()> {
        match result {
            Ok(Some(done)) => self.send_ok(&done, out),
            Ok(None) => Ok(()),
            Err(error) => self.fail(&error, out),
        }
    }

    /// A text from the client as UTF-8.
    pub(crate) fn decode_text(&self, bytes: &[u8]) -> Result<String> {
        let decoded = wire::charset::decode(self.settings.charset_client, bytes);
        decoded.map(|text| text.into_owned()).ok_or_else(|| {
            Error::new(
                errno::ER_INVALID_CHARACTER_STRING,
                self.settings.charset_client.invalid_message(bytes),
            )
        })
    }

    /// A statement's text as UTF-8. BLOBs in `_binary'...'` literals are no text, so bytes that are no UTF-8
    /// are encoded for the planner, which decodes them, or refuses them where they stand.
    pub(crate) fn decode_statement<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, str>> {
        Ok(syntax::carry_bytes(bytes, self.settings.charset_client))
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
        let Compiled::Plan(plan) = &compiled else {
            return Err(Error::internal("a SELECT that is no plan"));
        };
        self.client.check_privileges(&plan.accesses)?;
        let columns = plan_columns(&plan.plan).iter();
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
        self.log_command("Query", &text);
        self.text(&text, out)
    }
}
