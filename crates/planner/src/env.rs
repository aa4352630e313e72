//! What planning a statement depends on besides its text.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use functions::bind::{BindNotes, TypeEnv};
use functions::{TimeZone, UserVariable, Warnings};
use schema::model::{Schema, Table};
use schema::temporary_tables::TemporaryTables;
use syntax::ast::VariableScope;
use types::{Charset, Collation, Error, Result, SqlMode, SqlType, TypeKind, Value};

use crate::object_access::{ObjectAccess, TableNeeds};

/// What the place of a parameter in a statement says of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// Values are converted to this type. `None` if the type of no result depends on the parameter.
    pub converted: Option<SqlType>,
    /// The type that a client is told, if that is known.
    pub announced: Option<SqlType>,
    /// It is a number of rows of a window: only a whole number is taken.
    pub counts_rows: bool,
    /// What is done with it, if it has the type of a date or time.
    pub moment: MomentUse,
}

/// What a statement does with a parameter that has the type of a date, time or year.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MomentUse {
    /// A number stays a number, unless the place converts it.
    #[default]
    AsGiven,
    /// It is beside a YEAR or BIT, and so a number, but a text keeps its spelling where the result is a text.
    Spelled,
    /// It is compared: a number is read as the moment that its digits write, and is NULL if they write none.
    Compared,
    /// It is calculated with: every value becomes the number that a value of the type is there.
    Computed(Calculation),
}

/// The kinds of calculations by the numbers that dates, times and years are in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calculation {
    /// An integer, or a DECIMAL if the type has a time of day.
    Sum,
    /// A DECIMAL.
    Quotient,
    /// DIV: a DECIMAL of a date or time, an integer of a year.
    WholeQuotient,
    /// The bits of an integer.
    Bits,
}

impl Calculation {
    /// The number that a value of type `ty` is.
    pub fn number(self, ty: &SqlType) -> SqlType {
        let exact = match self {
            Self::Sum => ty.is_temporal() && ty.kind != TypeKind::Date,
            Self::Quotient => true,
            Self::WholeQuotient => ty.is_temporal(),
            Self::Bits => return SqlType::BIGINT_UNSIGNED,
        };
        match ty.kind {
            _ if exact => SqlType::decimal(30, 6),
            TypeKind::Bit => SqlType::BIGINT_UNSIGNED,
            _ => SqlType::BIGINT,
        }
    }
}

/// What a statement is planned for. MySQL gives the warnings of a text where it reads it, and others where it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedFor<'a> {
    /// One execution of a text.
    Text,
    /// PREPARE, which only reads the text.
    Prepare,
    /// An execution of a prepared statement, whose text has been read.
    Execute,
    /// The same, after a value of another kind than its parameter was given: all parameters have these types, those of
    /// the values of that execution. `None` for a number of rows.
    ExecuteByValues(&'a [Option<SqlType>]),
}

impl PlannedFor<'_> {
    pub(crate) fn is_execution(self) -> bool {
        matches!(self, Self::Execute | Self::ExecuteByValues(_))
    }
}

/// The environment of a statement that is being planned; `session` provides it.
pub struct BindEnv<'a> {
    pub schema: Arc<Schema>,
    /// Tables of the session, which hide those of the schema.
    pub temporary: &'a TemporaryTables,
    /// The default database.
    pub database: Option<&'a str>,
    pub planned_for: PlannedFor<'a>,
    /// Types of the statement's parameters, in order. Meaningless unless `params_known`.
    pub params: &'a [SqlType],
    /// False for PREPARE, which reports the columns of the result before the parameters have values: their
    /// types are then derived from the expressions around them.
    pub params_known: bool,
    /// Receives, for PREPARE, what is derived of each parameter.
    pub places: Option<&'a RefCell<Vec<Place>>>,
    /// The parameters are literals of the text. A plan that depends on the value of a literal is then not
    /// cacheable.
    pub literal_params: bool,
    pub sql_mode: SqlMode,
    /// `@@character_set_client`: of the statement's text.
    pub charset_client: Charset,
    /// `@@collation_connection`: of string literals.
    pub collation_connection: Collation,
    /// `@@collation_server`: of new databases.
    pub collation_server: Collation,
    /// `@@div_precision_increment`.
    pub div_precision_increment: u8,
    /// `@@default_week_format`.
    pub default_week_format: u8,
    /// `@@group_concat_max_len`.
    pub group_concat_max_len: u64,
    pub time_zone: TimeZone,
    /// `@@name` and `@@scope.name`. Fails with 1193 on an unknown name.
    pub system_variable: &'a dyn Fn(Option<VariableScope>, &str) -> Result<Value>,
    /// `@name`, by lower-case names.
    pub user_variables: &'a HashMap<String, UserVariable>,
    /// Fails with 1142 if the account lacks what a statement needs on a table, whether it exists or not:
    /// database, table.
    pub check_table: &'a dyn Fn(&str, &str, TableNeeds) -> Result<()>,
    /// Fails with 1142 or 1143 if the account lacks what the query of a new view needs.
    pub check_accesses: &'a dyn Fn(&[ObjectAccess]) -> Result<()>,
    /// Error 1143 in place of 1054 if the account may not read all columns of a table: database, table,
    /// and the column that does not exist.
    pub denied_column: &'a dyn Fn(&str, &str, &str) -> Option<Error>,
    /// The number of the connection's thread.
    pub thread: u64,
    /// Error 1044 of the account, for a database that is read-only for every account.
    pub denied: &'a dyn Fn(&str) -> Error,
    /// Receives the warnings of planning.
    pub warnings: &'a Warnings,
    /// `@@foreign_key_checks`.
    pub foreign_key_checks: bool,
}

impl BindEnv<'_> {
    /// A table or view by name, as a statement sees it.
    pub(crate) fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let temporary = self.temporary.find(database, name);
        temporary.or_else(|| self.schema.table(database, name))
    }

    pub(crate) fn type_env(&self) -> TypeEnv {
        TypeEnv {
            database: self.database.map(str::to_owned),
            collation: self.collation_connection,
            sql_mode: self.sql_mode,
            div_precision_increment: self.div_precision_increment,
            default_week_format: self.default_week_format,
            group_concat_max_len: self.group_concat_max_len,
            user_variables: Arc::new(self.user_variables.clone()),
            variable_types: HashMap::new(),
            literal_params: self.literal_params,
            is_in_query: Cell::new(false),
            notes: BindNotes::default(),
        }
    }
}
