//! Prepared statements: those of the binary protocol (COM_STMT_*), with cursors and long data, and those of
//! SQL (PREPARE).
//!
//! - [`PreparedStatements`], [`NamedStatements`]: what a session has prepared.
//! - `prepare`: checks a statement, and finds its result columns and parameter types. `execute`:
//!   COM_STMT_EXECUTE, and COM_STMT_FETCH from its cursor. EXECUTE is in `crate::statement`.
//! - [`parameter_types`]: converts values to the types of their parameters. `long_data`, `cursor`: see there.

mod cursor;
pub mod execute;
mod long_data;
pub mod parameter_types;
pub mod prepare;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cursor::Cursor;
use long_data::SentAhead;
use memory::Broker;
use syntax::Parsed;
use types::{Error, Result, SqlType, errno};
use wire::command::BoundType;

use parameter_types::{Expected, RowCount};

use crate::compiled::Compiled;
use crate::errors;

/// The types that parameters have by their position in the statement ([`parameter_types`]); `None` for a number of
/// rows. Empty if no value is converted.
pub type ParameterTypes = Arc<[Option<Expected>]>;

/// The parts that every prepared statement has.
#[derive(Clone)]
pub struct Statement {
    pub text: Arc<str>,
    pub parsed: Arc<Parsed>,
    /// The database that was selected when the statement was prepared. Names without a database are looked up
    /// in it.
    pub database: Option<Arc<str>>,
    pub parameter_types: ParameterTypes,
    /// The types of all parameters since a value of another kind than its parameter was given: those of the values of
    /// that execution.
    pub types_of_values: Option<Arc<[Option<SqlType>]>>,
    /// Those that are a number of rows.
    pub row_counts: Arc<[RowCount]>,
    /// How many `?` it has.
    pub parameters: usize,
    /// Its parameters are taken as they come, and no hint sets variables.
    pub is_plain: bool,
}

impl Statement {
    /// Gives all parameters the types of an execution's values, one of which was of another kind than its parameter. MySQL
    /// prepares the statement again.
    pub fn take_types(&mut self, types: &[SqlType]) {
        let given = self.parameter_types.iter().zip(types);
        self.parameter_types = given
            .map(|(expected, ty)| expected.map(|expected| expected.of_value(*ty)))
            .collect();
        let types = self.parameter_types.iter();
        self.types_of_values = Some(
            types
                .map(|expected| expected.map(|expected| expected.ty))
                .collect(),
        );
    }
}

/// A statement prepared by COM_STMT_PREPARE.
struct Prepared {
    statement: Statement,
    /// The plan of the last execution, unless one is under way.
    plan: Option<LastPlan>,
    /// The types of the parameters. A client sends them only with the first execution.
    bound: Vec<BoundType>,
    sent_ahead: SentAhead,
    cursor: Option<Cursor>,
}

/// The plan of the last execution, kept for the next one so that it need not be looked up by the statement's
/// text.
struct LastPlan {
    compiled: Compiled,
    /// The conditions for which it was planned, besides those that cannot change while the statement is
    /// prepared.
    types: Vec<SqlType>,
    environment: u64,
}

/// The statements of one session by COM_STMT_PREPARE.
pub struct PreparedStatements {
    by_id: BTreeMap<u32, Prepared>,
    next_id: u32,
    /// The number of statements of all sessions of the server.
    server_count: Arc<AtomicU64>,
}

impl PreparedStatements {
    pub fn new(server_count: Arc<AtomicU64>) -> Self {
        Self {
            by_id: BTreeMap::new(),
            next_id: 1,
            server_count,
        }
    }

    /// Adds a statement and returns its id. `most`: how many statements all sessions may have.
    ///
    /// # Errors
    /// 1461 if there are too many.
    fn add(&mut self, statement: Statement, most: u64) -> Result<u32> {
        self.reserve(most)?;
        let id = self.next_id;
        self.next_id = id.wrapping_add(1).max(1);
        self.by_id.insert(
            id,
            Prepared {
                statement,
                plan: None,
                bound: Vec::new(),
                sent_ahead: SentAhead::default(),
                cursor: None,
            },
        );
        Ok(id)
    }

    fn reserve(&self, most: u64) -> Result<()> {
        if self.server_count.fetch_add(1, Ordering::Relaxed) >= most {
            self.release(1);
            return Err(Error::new(
                errno::ER_MAX_PREPARED_STMT_COUNT_REACHED,
                format!("Can't create more than max_prepared_stmt_count statements (current value: {most})"),
            ));
        }
        Ok(())
    }

    fn release(&self, count: u64) {
        self.server_count.fetch_sub(count, Ordering::Relaxed);
    }

    /// Counts a statement of PREPARE.
    ///
    /// # Errors
    /// 1461 if there are too many.
    pub fn count_named(&self, most: u64) -> Result<Counted> {
        self.reserve(most)?;
        Ok(Counted(Arc::clone(&self.server_count)))
    }

    /// Fails with 1243, which names `function`, for an unknown id.
    fn find(&self, id: u32, function: &str) -> Result<&Prepared> {
        self.by_id
            .get(&id)
            .ok_or_else(|| errors::unknown_statement(id, function))
    }

    /// [`PreparedStatements::find`], to change it.
    fn get(&mut self, id: u32, function: &str) -> Result<&mut Prepared> {
        self.by_id
            .get_mut(&id)
            .ok_or_else(|| errors::unknown_statement(id, function))
    }

    /// COM_STMT_CLOSE.
    pub fn close(&mut self, id: u32) {
        if self.by_id.remove(&id).is_some() {
            self.release(1);
        }
    }

    pub fn close_all(&mut self) {
        self.release(self.by_id.len() as u64);
        self.by_id.clear();
    }

    /// COM_STMT_RESET.
    ///
    /// # Errors
    /// 1243 for an unknown id.
    pub fn reset(&mut self, id: u32) -> Result<()> {
        let prepared = self.get(id, "mysqld_stmt_reset")?;
        prepared.sent_ahead.clear();
        prepared.cursor = None;
        Ok(())
    }

    /// COM_STMT_SEND_LONG_DATA.
    pub fn long_data(
        &mut self,
        id: u32,
        parameter: u16,
        data: &[u8],
        bytes_max: usize,
        memory: &'static Broker,
    ) {
        if let Some(prepared) = self.by_id.get_mut(&id) {
            let count = prepared.statement.parameters;
            prepared
                .sent_ahead
                .append(usize::from(parameter), count, data, bytes_max, memory);
        }
    }
}

/// The statements of one session by PREPARE, by lower-case name.
#[derive(Default)]
pub struct NamedStatements(HashMap<String, (Statement, Counted)>);

/// The part of a statement of PREPARE in the number of all statements.
pub struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl NamedStatements {
    pub fn get(&self, name: &str) -> Option<&Statement> {
        self.0.get(&name.to_lowercase()).map(|(statement, _)| statement)
    }

    /// Changes a statement, if it still exists.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Statement> {
        self.0
            .get_mut(&name.to_lowercase())
            .map(|(statement, _)| statement)
    }

    pub fn put(&mut self, name: &str, statement: Statement, counted: Counted) {
        self.0.insert(name.to_lowercase(), (statement, counted));
    }

    /// Removes a statement. Returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(&name.to_lowercase()).is_some()
    }
}
