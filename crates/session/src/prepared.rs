//! Prepared statements: of the binary protocol (COM_STMT_*), with cursors and long data, and of SQL (PREPARE, EXECUTE).

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use arrow::record_batch::RecordBatch;
use memory::{Account, Holder};
use planner::plan::{Plan, ResultColumn};
use syntax::Parsed;
use syntax::ast::{PrepareSource, TransactionStatement};
use types::{Collation, Error, Result, SqlType, Value, errno};
use wire::command::{BoundType, LongData, ParameterContext, StmtExecute};
use wire::connection::PacketSink;
use wire::row::Format;
use wire::status;

use crate::compile::{Compiled, Parameters};
use crate::errors;
use crate::placed::{self, Executed};
use crate::reply::Done;
use crate::run::Outcome;
use crate::session::Session;
use crate::sinks::Collected;
use crate::statistics::Kind;

/// A statement prepared by COM_STMT_PREPARE.
pub struct Prepared {
    text: Arc<str>,
    parsed: Arc<Parsed>,
    /// The database that names without one are looked up in: the one of the moment of preparing.
    database: Option<Arc<str>>,
    places: Places,
    /// The plan of the last execution, unless one is under way.
    plan: Option<KeptPlan>,
    /// Types of the parameters, which a client sends once.
    bound: Vec<BoundType>,
    long_data: LongData,
    /// Of the long data.
    long_data_memory: Option<Account>,
    /// Long data that did not fit: told by the next execution.
    long_data_error: Option<Error>,
    cursor: Option<Cursor>,
}

/// A plan of the plan cache's, kept so that it need not be looked up by the statement's text each time, or a COMMIT.
struct KeptPlan {
    plan: Compiled,
    /// What it was planned for, beside what cannot change while the statement is prepared.
    types: Vec<SqlType>,
    environment: u64,
}

/// Rows that the client fetches in portions.
struct Cursor {
    columns: Vec<ResultColumn>,
    batches: std::vec::IntoIter<RecordBatch>,
    current: Option<(RecordBatch, usize)>,
    /// Of all of them.
    _memory: Account,
}

/// A statement prepared by PREPARE.
#[derive(Clone)]
pub struct NamedStatement {
    text: Arc<str>,
    parsed: Arc<Parsed>,
    database: Option<Arc<str>>,
    places: Places,
}

/// The types that parameters have by where they stand (see [`crate::placed`]); empty where none has one.
type Places = Arc<[Option<SqlType>]>;

/// A statement that was found to be right.
struct Checked {
    text: Arc<str>,
    parsed: Parsed,
    columns: Vec<ResultColumn>,
    places: Vec<Option<SqlType>>,
}

/// What one execution of a prepared statement is made of.
struct Execution {
    text: Arc<str>,
    database: Option<Arc<str>>,
    values: Vec<Value>,
    types: Vec<SqlType>,
    /// The plan of the execution before, if it was for the same types in the same environment. It is away from the prepared
    /// statement while it runs: to count one more of its owners would cost all connections something, who share it.
    kept: Option<Compiled>,
    cursor: bool,
    /// Of parameters that were sent ahead.
    _memory: Option<Account>,
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
        let prepared = self.decode_statement(text).and_then(|text| self.prepare(&text));
        self.count(Kind::Prepare, started, prepared.is_err());
        let Checked {
            text,
            parsed,
            columns,
            places,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return Ok(Err(error)),
        };
        if let Err(error) = self.reserve_prepared() {
            return Ok(Err(error));
        }
        let parameters = parsed.parameters;
        let id = self.next_statement_id;
        self.next_statement_id = self.next_statement_id.wrapping_add(1).max(1);
        self.prepared.insert(
            id,
            Prepared {
                text,
                parsed: Arc::new(parsed),
                database: self.database.clone(),
                places: kept(&places),
                plan: None,
                bound: Vec::new(),
                long_data: LongData::new(),
                long_data_memory: None,
                long_data_error: None,
                cursor: None,
            },
        );
        let ok = wire::prepare_ok::PrepareOk {
            statement_id: id,
            columns: columns.len() as u16,
            parameters: parameters as u16,
            warnings: u16::try_from(self.diagnostics.count).unwrap_or(u16::MAX),
        };
        out.send_with(&mut |packet| ok.encode(packet))?;
        if parameters > 0 {
            let collation = self.settings.collation_connection;
            let columns: Vec<ResultColumn> = places
                .iter()
                .map(|place| parameter_column(*place, collation))
                .collect();
            self.send_definitions(&columns, out)?;
            self.send_metadata_end(0, out)?;
        }
        if !columns.is_empty() {
            self.send_definitions(&columns, out)?;
            self.send_metadata_end(0, out)?;
        }
        Ok(Ok(()))
    }

    /// Checks a statement and finds its result's columns.
    fn prepare(&mut self, text: &str) -> Result<Checked> {
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
        let places = RefCell::new(vec![None; parsed.parameters]);
        let columns = match self.compile(&parsed, Parameters::Unknown(Some(&places)))? {
            Compiled::Plan(plan) => {
                self.check_plan(&plan.plan)?;
                Self::plan_columns(&plan.plan).to_vec()
            }
            Compiled::Ddl(_) => Vec::new(),
            Compiled::Command(command) => {
                refuse_unpreparable(&command)?;
                self.command_columns(&command)
            }
        };
        if columns.len() > usize::from(u16::MAX) {
            // A result may have more; the answer that describes it beforehand counts with 16 bits.
            return Err(Error::new(errno::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        Ok(Checked {
            text,
            parsed,
            columns,
            places: places.into_inner(),
        })
    }

    /// Result columns of a SHOW or EXPLAIN, found by running it: they do not depend on its rows.
    fn command_columns(&mut self, command: &planner::command::Command) -> Vec<ResultColumn> {
        let listing = match command {
            planner::command::Command::Show(show) => {
                let eval = self.eval_context(Vec::new(), functions::Strictness::Warn);
                self.show(show, &eval)
            }
            planner::command::Command::Explain(explained) => self.explain(explained),
            _ => return Vec::new(),
        };
        listing
            .map(|listing| listing.result_columns())
            .unwrap_or_default()
    }

    /// Converts parameters to the types of their places.
    fn settle(&self, places: &Places, values: &mut [Value], types: &mut [SqlType]) {
        if !places.is_empty() {
            let eval = self.eval_context(Vec::new(), functions::Strictness::Warn);
            placed::settle(places, values, types, &eval);
        }
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

    fn reserve_prepared(&self) -> Result<()> {
        let most = self.shared.variables.integer("max_prepared_stmt_count");
        if self.shared.prepared_count.fetch_add(1, Ordering::Relaxed) >= most {
            self.shared.prepared_count.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::new(
                errno::ER_MAX_PREPARED_STMT_COUNT_REACHED,
                format!("Can't create more than max_prepared_stmt_count statements (current value: {most})"),
            ));
        }
        Ok(())
    }

    pub(crate) fn close_prepared(&mut self, id: u32) {
        if self.prepared.remove(&id).is_some() {
            self.shared.prepared_count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn close_all_prepared(&mut self) {
        self.shared
            .prepared_count
            .fetch_sub(self.prepared.len() as u64, Ordering::Relaxed);
        self.prepared.clear();
    }

    pub(crate) fn reset_prepared(&mut self, id: u32) -> Result<()> {
        let prepared = self.prepared.get_mut(&id);
        let prepared = prepared.ok_or_else(|| errors::unknown_statement(id, "mysqld_stmt_reset"))?;
        prepared.long_data.clear();
        prepared.long_data_memory = None;
        prepared.long_data_error = None;
        prepared.cursor = None;
        Ok(())
    }

    /// COM_STMT_SEND_LONG_DATA: has no answer, so what goes wrong is told by the execution.
    pub(crate) fn long_data(&mut self, id: u32, parameter: u16, data: &[u8]) {
        let most = self.settings.max_allowed_packet;
        let broker = self.shared.memory;
        let Some(prepared) = self.prepared.get_mut(&id) else {
            return;
        };
        let parameter = usize::from(parameter);
        if parameter >= prepared.parsed.parameters {
            prepared.long_data_error = Some(Error::new(
                errno::ER_WRONG_ARGUMENTS,
                "Incorrect arguments to mysqld_stmt_send_long_data",
            ));
            return;
        }
        if prepared.long_data.len() <= parameter {
            prepared.long_data.resize(prepared.parsed.parameters, None);
        }
        let held = prepared.long_data[parameter].get_or_insert_default();
        if held.len() + data.len() > most {
            prepared.long_data_error = Some(Error::new(
                errno::ER_UNKNOWN_ERROR,
                "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes",
            ));
            return;
        }
        let memory = prepared
            .long_data_memory
            .get_or_insert_with(|| Account::new(broker, Holder::Kept, usize::MAX));
        // A vector that grows is copied to one twice as large.
        if memory.grow(data.len().saturating_mul(2), None).is_err() {
            prepared.long_data_error = Some(Error::new(
                errno::ER_MEMORY_EXCEEDED,
                "The server has no memory left for parameters that are sent ahead of their statement; run it again when less is \
                 going on, or raise memory.limit_bytes",
            ));
            return;
        }
        held.extend_from_slice(data);
    }

    /// COM_STMT_EXECUTE.
    pub(crate) fn execute_prepared(
        &mut self,
        execute: &StmtExecute,
        out: &mut dyn PacketSink,
    ) -> io::Result<Result<Option<Done>>> {
        let started = Instant::now();
        self.statement_started = started;
        self.begin_statement();
        let context = ParameterContext {
            capabilities: self.client.capabilities,
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
        let database = execution.database.clone();
        let current = std::mem::replace(&mut self.database, database.clone());
        let result = self.run_execution(execute.statement_id, execution, out);
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
            values, types, kept, ..
        } = execution;
        let environment = self.settings.plan_environment;
        let compiled = match kept {
            Some(Compiled::Plan(plan)) if !self.is_current(&plan) => self.compile_execution(id, &types),
            Some(kept) => Ok(kept),
            None => self
                .enter_execution(id)
                .and_then(|()| self.compile_execution(id, &types)),
        };
        let mut compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) => return Ok((Kind::Other, Err(error))),
        };
        let replan = |session: &mut Self| session.compile_execution(id, &types);
        let result = if execution.cursor
            && let Compiled::Plan(plan) = &compiled
            && matches!(plan.plan, Plan::Query(_))
        {
            let opened = self.open_cursor(id, &mut compiled, values, &replan, out)?;
            (Kind::Select, opened.map(|()| Outcome::Sent))
        } else {
            self.run_compiled(&mut compiled, values, Format::Binary, &replan, out)?
        };
        if is_kept(&compiled)
            && let Some(prepared) = self.prepared.get_mut(&id)
        {
            prepared.plan = Some(KeptPlan {
                plan: compiled,
                types,
                environment,
            });
        }
        Ok(result)
    }

    /// What comes before an execution is compiled. One whose plan is kept is no definition.
    fn enter_execution(&mut self, id: u32) -> Result<()> {
        let prepared = self.prepared.get(&id);
        let prepared = prepared.ok_or_else(|| errors::unknown_statement(id, "mysqld_stmt_execute"))?;
        let parsed = prepared.parsed.clone();
        self.enter_statement(&parsed.statement)
    }

    /// A plan of the plan cache's for parameters of these types.
    fn compile_execution(&mut self, id: u32, types: &[SqlType]) -> Result<Compiled> {
        let prepared = self.prepared.get(&id);
        let prepared = prepared.ok_or_else(|| errors::unknown_statement(id, "mysqld_stmt_execute"))?;
        self.compile_prepared(&prepared.parsed, &prepared.text, types)
    }

    /// Selects the database again that was selected before a prepared statement ran in its own; unless the statement
    /// has dropped it.
    fn restore_database(&mut self, current: Option<Arc<str>>, of_statement: &Option<Arc<str>>) {
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
            self.end_of_failure(error);
        }
        Ok(match result? {
            Outcome::Sent => {
                self.rows_sent();
                None
            }
            Outcome::Ok(done) | Outcome::Close(done) => {
                self.note_affected(done.affected);
                Some(done)
            }
        })
    }

    fn read_execution(&mut self, execute: &StmtExecute, context: &ParameterContext) -> Result<Execution> {
        let id = execute.statement_id;
        let prepared = self.prepared.get_mut(&id);
        let mut prepared = prepared.ok_or_else(|| errors::unknown_statement(id, "mysqld_stmt_execute"))?;
        prepared.cursor = None;
        if let Some(error) = prepared.long_data_error.take() {
            prepared.long_data.clear();
            prepared.long_data_memory = None;
            return Err(error);
        }
        let count = prepared.parsed.parameters;
        let mut bound = execute.parameters(count, &mut prepared.bound, &mut prepared.long_data, context)?;
        let row_counts = &prepared.parsed.row_counts;
        placed::settle_row_counts(row_counts, Executed::Binary, &mut bound.values, &mut bound.types)?;
        if !prepared.places.is_empty() {
            let places = prepared.places.clone();
            self.settle(&places, &mut bound.values, &mut bound.types);
            let again = self.prepared.get_mut(&id);
            prepared = again.ok_or_else(|| errors::unknown_statement(id, "mysqld_stmt_execute"))?;
        }
        let environment = self.settings.plan_environment;
        let cursor = execute.wants_cursor()?;
        let kept = prepared.plan.take();
        let kept = kept.filter(|kept| kept.environment == environment && kept.types == bound.types);
        Ok(Execution {
            kept: kept.map(|kept| kept.plan),
            text: prepared.text.clone(),
            database: prepared.database.clone(),
            values: bound.values,
            types: bound.types,
            cursor,
            _memory: prepared.long_data_memory.take(),
        })
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
        let mut rows = Collected::limited(self.shared.memory, self.settings.memory_limit_bytes);
        let run = self.as_statement(|session| {
            let eval = session.eval_context(params, functions::Strictness::Warn);
            let counted = session.query_to_sink(query, &eval, &mut rows)?;
            session.end_of_evaluation(&eval);
            Ok(counted)
        });
        let counted = match run {
            Ok(counted) => counted,
            Err(error) => return Ok(Err(error)),
        };
        self.found_rows = counted.unwrap_or(rows.rows as u64);
        self.send_columns(self.columns_of(plan, query), status::CURSOR_EXISTS, out)?;
        if self.has(wire::capability::DEPRECATE_EOF) {
            // The packet after the definitions is the only one that can say that there is a cursor.
            self.send_rows_end(status::CURSOR_EXISTS, out)?;
        }
        if let Some(prepared) = self.prepared.get_mut(&id) {
            let batches = rows.batches.into_iter();
            prepared.cursor = Some(Cursor {
                columns: query.columns.clone(),
                batches,
                current: None,
                _memory: rows.memory,
            });
        }
        Ok(Ok(()))
    }

    /// COM_STMT_FETCH: the next rows of a cursor.
    pub(crate) fn fetch(&mut self, id: u32, count: u32, out: &mut dyn PacketSink) -> io::Result<Result<()>> {
        let Some(prepared) = self.prepared.get_mut(&id) else {
            return Ok(Err(errors::unknown_statement(id, "mysqld_stmt_fetch")));
        };
        let Some(mut cursor) = prepared.cursor.take() else {
            return Ok(Err(Error::new(
                1421,
                format!("The statement ({id}) has no open cursor."),
            )));
        };
        let encoder = self.row_encoder(&cursor.columns, Format::Binary);
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
            cursor.current = Some((batch, last));
        }
        let more = cursor.has_more();
        let flags = status::CURSOR_EXISTS | if more { 0 } else { status::LAST_ROW_SENT };
        self.send_rows_end(flags, out)?;
        if more && let Some(prepared) = self.prepared.get_mut(&id) {
            prepared.cursor = Some(cursor);
        }
        Ok(Ok(()))
    }

    /// PREPARE name FROM ...
    pub(crate) fn prepare_named(&mut self, name: &str, source: &PrepareSource) -> Result<()> {
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::Variable(variable) => match self.user_variables.get(&variable.to_lowercase()) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bytes(bytes)) => self.decode_text(bytes)?,
                Some(Value::Int(i)) => i.to_string(),
                _ => "NULL".to_owned(),
            },
        };
        self.named.remove(&name.to_lowercase());
        let Checked {
            text, parsed, places, ..
        } = self.prepare(&text)?;
        self.reserve_prepared()?;
        self.shared.prepared_count.fetch_sub(1, Ordering::Relaxed);
        self.named.insert(
            name.to_lowercase(),
            NamedStatement {
                text,
                parsed: Arc::new(parsed),
                database: self.database.clone(),
                places: kept(&places),
            },
        );
        self.state_changed();
        Ok(())
    }

    /// EXECUTE name USING @a, @b
    pub(crate) fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        out: &mut dyn PacketSink,
    ) -> io::Result<(Kind, Result<Outcome>)> {
        let Some(statement) = self.named.get(&name.to_lowercase()).cloned() else {
            return Ok((Kind::Other, Err(unknown_name(name, "EXECUTE"))));
        };
        if statement.parsed.parameters != using.len() {
            let error = Error::new(errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to EXECUTE");
            return Ok((Kind::Other, Err(error)));
        }
        let value = |name: &String| {
            self.user_variables
                .get(&name.to_lowercase())
                .cloned()
                .unwrap_or(Value::Null)
        };
        let mut values: Vec<Value> = using.iter().map(value).collect();
        let collation = self.settings.collation_connection;
        let mut types: Vec<SqlType> = values
            .iter()
            .map(|v| functions::bind::type_of_value(v, collation))
            .collect();
        let row_counts = &statement.parsed.row_counts;
        if let Err(error) = placed::settle_row_counts(row_counts, Executed::Named, &mut values, &mut types) {
            return Ok((Kind::Other, Err(error)));
        }
        self.settle(&statement.places, &mut values, &mut types);
        let current = std::mem::replace(&mut self.database, statement.database.clone());
        let replan =
            |session: &mut Self| session.compile_prepared(&statement.parsed, &statement.text, &types);
        let compiled = match self.enter_statement(&statement.parsed.statement) {
            Ok(()) => replan(self),
            Err(error) => Err(error),
        };
        let result = match compiled {
            Ok(mut compiled) => self.run_compiled(&mut compiled, values, Format::Text, &replan, out),
            Err(error) => Ok((Kind::Other, Err(error))),
        };
        self.restore_database(current, &statement.database);
        result
    }

    /// DEALLOCATE PREPARE
    pub(crate) fn deallocate_named(&mut self, name: &str) -> Result<()> {
        if self.named.remove(&name.to_lowercase()).is_none() {
            return Err(unknown_name(name, "DEALLOCATE PREPARE"));
        }
        self.state_changed();
        Ok(())
    }
}

impl Cursor {
    /// The batch being read, or the next one with rows left in it.
    fn take_current(&mut self) -> Option<(RecordBatch, usize)> {
        loop {
            match self.current.take() {
                Some((batch, row)) if row < batch.num_rows() => return Some((batch, row)),
                _ => self.current = Some((self.batches.next()?, 0)),
            }
        }
    }

    fn has_more(&mut self) -> bool {
        self.current = self.take_current();
        self.current.is_some()
    }
}

fn kept(places: &[Option<SqlType>]) -> Places {
    match places.iter().any(Option::is_some) {
        true => places.into(),
        false => Places::default(),
    }
}

/// Whether what a statement was compiled to is good for its next execution.
fn is_kept(compiled: &Compiled) -> bool {
    use planner::command::Command;
    match compiled {
        Compiled::Plan(plan) => plan.cacheable,
        // They name nothing that could be another thing by then.
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

/// What a client is told of a parameter.
fn parameter_column(place: Option<SqlType>, collation: Collation) -> ResultColumn {
    ResultColumn {
        database: String::new(),
        table: String::new(),
        original_table: String::new(),
        name: "?".to_owned(),
        original_name: String::new(),
        ty: place.unwrap_or_else(|| SqlType::varchar(UNPLACED_CHARS, collation)),
        nullable: true,
        primary_key: false,
        unique_key: false,
        multiple_key: false,
        part_key: false,
        auto_increment: false,
        no_default: false,
        on_update_now: false,
    }
}

/// What MySQL says of a parameter that could be anything: it is a VARCHAR of this length.
const UNPLACED_CHARS: u32 = 16_383;

/// Statements that MySQL does not prepare either (manual 13.5 "SQL Syntax Permitted in Prepared Statements").
fn refuse_unpreparable(command: &planner::command::Command) -> Result<()> {
    use planner::command::Command::*;
    match command {
        Transaction(TransactionStatement::Commit { .. } | TransactionStatement::Rollback { .. }) => Ok(()),
        Transaction(_)
        | Use { .. }
        | Prepare { .. }
        | Execute { .. }
        | Deallocate { .. }
        | LockTables { .. }
        | UnlockTables => Err(Error::new(
            errno::ER_UNSUPPORTED_PS,
            "This command is not supported in the prepared statement protocol yet",
        )),
        _ => Ok(()),
    }
}

fn unknown_name(name: &str, statement: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_STMT_HANDLER,
        format!("Unknown prepared statement handler ({name}) given to {statement}"),
    )
}
