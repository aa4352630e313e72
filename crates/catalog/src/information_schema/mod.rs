//! Rows of the tables that the server makes up. Their definitions: `system/tables.txt`.
//!
//! | database | with rows | known and empty |
//! |---|---|---|
//! | `information_schema` | schemata, tables, columns, statistics, key_column_usage, table_constraints, engines, character_sets, collations, collation_character_set_applicability, processlist, cluster_processlist (TiDB's), plugins, partitions, keywords, user_privileges, schema_privileges | the others |
//! | `performance_schema` | global_variables, session_variables, global_status, session_status, processlist | |
//! | `mysql` | user, db | |
//!
//! What only the server knows comes through [`Surroundings`]. A table that shows tables or databases leaves out those
//! that the account may not use.

pub mod columns;
pub mod keys;
mod keywords;
mod privileges;
pub mod server;
mod tables;

use std::ops::Range;
use std::sync::Arc;

use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use functions::TimeZone;
use kv::Interrupt;
use schema::model::Table;
use serde::{Deserialize, Serialize};
use types::array::ColumnBuilder;
use types::temporal::DateTime;
use types::{Error, Result, Value};

use crate::Catalog;

/// Rows of one batch.
const BATCH_ROWS: usize = 1024;

/// A row of SHOW PROCESSLIST.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProcessRow {
    pub id: u64,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: String,
    pub time_s: i64,
    pub state: Option<String>,
    pub info: Option<String>,
}

/// What the server knows and the catalog does not.
pub trait Surroundings {
    /// The connections that the session may see.
    fn processes(&self) -> Vec<ProcessRow>;
    /// The connections of all nodes that the session may see, each with its node's address.
    ///
    /// # Errors
    /// Those of the store.
    fn cluster_processes(&self) -> Result<Vec<(String, ProcessRow)>>;
    /// System variables, sorted by name: `(name, value)`.
    fn variables(&self, global: bool) -> Vec<(String, String)>;
    /// Status variables, sorted by name.
    fn status(&self, global: bool) -> Vec<(String, String)>;
    /// Whether the session's account may use a database.
    fn may_see(&self, database: &str) -> bool;
    /// Whether the account may see all accounts, not only itself.
    fn may_see_accounts(&self) -> bool;
    fn time_zone(&self) -> TimeZone;
    /// Ends the statement that asks.
    fn interrupt(&self) -> &Arc<Interrupt>;
}

/// What row makers work with.
pub(crate) struct Context<'a> {
    pub catalog: &'a Catalog,
    pub schema: &'a schema::model::Schema,
    pub surroundings: &'a dyn Surroundings,
    /// Offsets of the columns that are looked at.
    wanted: &'a [usize],
}

impl Context<'_> {
    /// Whether any of these columns is looked at. What is dear to find out can be left out otherwise: on a cluster, a table's
    /// size is an estimate that takes reading some of its rows.
    fn wants(&self, mut offsets: Range<usize>) -> bool {
        offsets.any(|offset| self.wanted.contains(&offset))
    }

    /// Microseconds since 1970 as a TIMESTAMP in the session's zone.
    fn timestamp(&self, us: i64) -> Value {
        let at = self.surroundings.time_zone().from_unix_us(us);
        Value::UInt(DateTime { microsecond: 0, ..at }.pack())
    }

    /// Databases the session may see, in the order of their names.
    fn databases(&self) -> impl Iterator<Item = &schema::model::Database> {
        self.schema
            .databases
            .values()
            .map(AsRef::as_ref)
            .filter(|d| self.surroundings.may_see(&d.name))
    }

    /// Tables the session may see, in the order of databases and names.
    fn tables(&self) -> impl Iterator<Item = (&schema::model::Database, &Table)> {
        self.databases().flat_map(|database| {
            let mut tables: Vec<&Table> = database.tables.values().map(AsRef::as_ref).collect();
            tables.sort_by(|a, b| a.name.cmp(&b.name));
            tables.into_iter().map(move |table| (database, table))
        })
    }
}

type Row = Vec<Value>;

/// The rows of a virtual table: a value for each of its columns. What is dear to find out is NULL in columns whose offsets
/// are not `wanted`.
///
/// # Errors
/// Those of the store.
pub fn rows(
    catalog: &Catalog,
    table: &Table,
    wanted: &[usize],
    surroundings: &dyn Surroundings,
) -> Result<Vec<Row>> {
    let schema = catalog.schema();
    let ctx = Context {
        catalog,
        schema: &schema,
        surroundings,
        wanted,
    };
    let rows = match (table.database.as_str(), table.name.as_str()) {
        ("information_schema", "SCHEMATA") => tables::schemata(&ctx),
        ("information_schema", "TABLES") => tables::tables(&ctx)?,
        ("information_schema", "PARTITIONS") => tables::partitions(&ctx),
        ("information_schema", "COLUMNS") => columns::columns(&ctx),
        ("information_schema", "STATISTICS") => keys::statistics(&ctx),
        ("information_schema", "KEY_COLUMN_USAGE") => keys::key_column_usage(&ctx),
        ("information_schema", "TABLE_CONSTRAINTS") => keys::table_constraints(&ctx),
        ("information_schema", "ENGINES") => server::engines(),
        ("information_schema", "PLUGINS") => server::plugins(),
        ("information_schema", "CHARACTER_SETS") => server::character_sets(),
        ("information_schema", "COLLATIONS") => server::collations(),
        ("information_schema", "COLLATION_CHARACTER_SET_APPLICABILITY") => server::applicability(),
        ("information_schema", "KEYWORDS") => keywords::keywords(),
        ("information_schema", "PROCESSLIST") => server::processlist(&ctx, false),
        ("information_schema", "CLUSTER_PROCESSLIST") => server::cluster_processlist(&ctx)?,
        ("information_schema", "USER_PRIVILEGES") => privileges::user_privileges(&ctx),
        ("information_schema", "SCHEMA_PRIVILEGES") => privileges::schema_privileges(&ctx),
        ("performance_schema", "processlist") => server::processlist(&ctx, true),
        ("performance_schema", "global_variables") => server::named(surroundings.variables(true)),
        ("performance_schema", "session_variables") => server::named(surroundings.variables(false)),
        ("performance_schema", "global_status") => server::named(surroundings.status(true)),
        ("performance_schema", "session_status") => server::named(surroundings.status(false)),
        ("mysql", "user") => privileges::mysql_user(&ctx),
        ("mysql", "db") => privileges::mysql_db(&ctx),
        _ => Vec::new(),
    };
    Ok(rows)
}

/// [`rows`] as batches with all the table's columns, in the Arrow types of their SQL types.
///
/// # Errors
/// Those of the store.
pub fn batches(
    catalog: &Catalog,
    table: &Table,
    wanted: &[usize],
    surroundings: &dyn Surroundings,
) -> Result<Vec<RecordBatch>> {
    rows(catalog, table, wanted, surroundings)?
        .chunks(BATCH_ROWS)
        .map(|rows| batch(table, rows))
        .collect()
}

fn batch(table: &Table, rows: &[Row]) -> Result<RecordBatch> {
    let mut builders: Vec<ColumnBuilder> = table
        .columns
        .iter()
        .map(|c| ColumnBuilder::new(&c.ty, rows.len()))
        .collect();
    for row in rows {
        if row.len() != builders.len() {
            return Err(Error::internal(format!(
                "{}.{}: a row of {}",
                table.database,
                table.name,
                row.len()
            )));
        }
        for (builder, value) in builders.iter_mut().zip(row) {
            builder.append(value)?;
        }
    }
    let fields: Vec<arrow::datatypes::Field> = table
        .columns
        .iter()
        .map(|c| arrow::datatypes::Field::new(&c.name, c.ty.arrow_type(), true))
        .collect();
    RecordBatch::try_new_with_options(
        std::sync::Arc::new(arrow::datatypes::Schema::new(fields)),
        builders.iter_mut().map(ColumnBuilder::finish).collect(),
        &RecordBatchOptions::new().with_row_count(Some(rows.len())),
    )
    .map_err(Error::internal)
}

fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

fn optional(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

fn number(value: u64) -> Value {
    Value::UInt(value)
}

fn signed(value: i64) -> Value {
    Value::Int(value)
}

const CATALOG: &str = "def";

#[cfg(test)]
mod tests;
