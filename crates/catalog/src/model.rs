//! What the catalog knows about databases, tables, columns and indexes. Immutable once published: readers hold an
//! [`std::sync::Arc`] of a [`Schema`] and never see it change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Collation, SqlType};

/// Every database at one schema version.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    pub version: u64,
    /// By name; names of databases and tables are case-sensitive, as MySQL has them on Linux.
    pub databases: BTreeMap<String, Arc<Database>>,
}

#[derive(Debug, Clone)]
pub struct Database {
    pub id: i64,
    pub name: String,
    pub collation: Collation,
    pub tables: HashMap<String, Arc<Table>>,
}

/// The states of an online schema change (F1, "Online, Asynchronous Schema Change in F1", VLDB 2013).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SchemaState {
    /// Deletes remove it; nothing else touches it.
    DeleteOnly,
    /// Writes keep it; reads do not see it.
    WriteOnly,
    Public,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub id: i64,
    pub name: String,
    pub database: String,
    /// In the order of `CREATE TABLE`. A position in this list is a *column offset*.
    pub columns: Vec<Column>,
    /// The primary key, where it is not an integer handle, is one of them (`primary == true`).
    pub indexes: Vec<Index>,
    pub handle: Handle,
    pub collation: Collation,
    pub comment: String,
    /// Largest id ever given to a column or an index: ids are never used twice.
    pub max_column_id: i64,
    pub max_index_id: i64,
    /// `AUTO_INCREMENT = n` of CREATE or ALTER TABLE, else 1.
    pub auto_increment_start: u64,
    /// Microseconds since 1970, for information_schema.tables.create_time.
    pub created_us: i64,
    /// Changes with every schema change of this table.
    pub revision: u64,
}

/// What makes a row's key (`t{table}_r{handle}`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handle {
    /// A single-column integer primary key: the column's offset. Its value lives in the key only.
    Integer { column: usize },
    /// Any other primary key: the position of the primary index in [`Table::indexes`].
    Clustered { index: usize },
    /// No primary key: a hidden integer, given in sequence.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    pub id: i64,
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub default: Default,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    pub auto_increment: bool,
    pub comment: String,
    pub state: SchemaState,
    /// The value of rows that were written before ALTER TABLE ADD COLUMN (text in the form of [`Default::Literal`]).
    pub original_default: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Default {
    /// No DEFAULT clause: NULL where the column is nullable, else the column must be given.
    None,
    Null,
    /// As text, to be cast to the column's type (binary data as `0x` and hexadecimal digits).
    Literal(String),
    /// `CURRENT_TIMESTAMP(fsp)` and its synonyms; the precision is the column's.
    Now,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    pub id: i64,
    pub name: String,
    pub parts: Vec<IndexPart>,
    pub unique: bool,
    pub primary: bool,
    pub comment: String,
    pub state: SchemaState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPart {
    /// Offset in [`Table::columns`].
    pub column: usize,
    /// `col(n)`: only the first `n` characters (bytes for binary columns) are in the index.
    pub prefix: Option<u32>,
}

impl Schema {
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name)
    }

    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.databases.get(database)?.tables.get(name)
    }
}

impl Table {
    /// Offset of a column by name; column names are case-insensitive.
    pub fn column_offset(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
    }

    /// Offsets of the columns a `SELECT *` sees.
    pub fn public_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&i| self.columns[i].state == SchemaState::Public)
    }

    /// The primary key's parts; none for a hidden handle.
    pub fn primary_parts(&self) -> Vec<IndexPart> {
        match self.handle {
            Handle::Integer { column } => vec![IndexPart { column, prefix: None }],
            Handle::Clustered { index } => self.indexes[index].parts.clone(),
            Handle::Hidden => Vec::new(),
        }
    }
}
