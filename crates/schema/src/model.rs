//! Databases, tables, columns and indexes. A [`Schema`] is immutable: a reader that holds an [`Arc`] of one
//! never sees it change.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use types::{Collation, Error, Result, SqlType, errno};

use crate::bound::BoundCell;
use crate::create_options::CreateOptions;
use crate::dictionary_tables;
use crate::expression::{Check, Generated, StoredExpression, default_expression};
use crate::partition::Partitioning;
use crate::shadow::Conversion;
use crate::sharded_id::{AutoRandom, IdLayout};
use crate::temporary::TemporaryIds;
use crate::view::View;

/// Every database at one schema version.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    pub version: u64,
    /// By name; names of databases and tables are case-sensitive, as MySQL has them on Linux.
    pub databases: BTreeMap<String, Arc<Database>>,
    pub(crate) references: ReferenceIndex,
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
    /// Deletes remove its entries; no other statement writes or reads it.
    DeleteOnly,
    /// Writes maintain it; reads do not see it.
    WriteOnly,
    Public,
}

/// A table, or a view: both have a name of the same namespace, columns and a revision.
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
    /// The largest id that a column (an index) of the table ever had: ids are never used twice.
    pub max_column_id: i64,
    pub max_index_id: i64,
    /// `AUTO_INCREMENT = n` (`AUTO_RANDOM_BASE = n`) of CREATE or ALTER TABLE, else 1.
    pub auto_increment_start: u64,
    /// `SHARD_ROW_ID_BITS = n`: hidden row ids are distributed over 2^n shards.
    #[serde(default)]
    pub shard_row_id_bits: u8,
    /// `PRE_SPLIT_REGIONS = n`: a new table with sharded ids has 2^n regions.
    #[serde(default)]
    pub pre_split_regions: u8,
    /// Microseconds since 1970, for information_schema.tables.create_time.
    pub created_us: i64,
    /// Changes with every schema change of this table.
    pub revision: u64,
    /// Older snapshots cannot be read with this definition: at their time, the table or one of its indexes
    /// did not exist, or had other data. See [`Table::check_readable_at`].
    #[serde(default)]
    pub readable_from_ts: u64,
    /// It is a view: no rows are stored under its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<Box<View>>,
    /// What MySQL does with a table that the server itself provides. Such tables are not stored.
    #[serde(skip)]
    pub system: SystemTraits,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The table's expressions, once they are bound.
    #[serde(skip)]
    pub bound: BoundCell,
    /// Those in which this table refers to another, in the order of their names.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKey>,
    /// An ALTER TABLE rewrites the rows: writers maintain the new ones, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Box<ShadowTable>>,
    #[serde(default, skip_serializing_if = "CreateOptions::is_empty")]
    pub options: CreateOptions,
    /// It is a temporary table, which is never stored.
    #[serde(skip)]
    pub temporary: Option<Arc<TemporaryIds>>,
    /// The id under which rows and index entries are stored, where it is not the table's own. See
    /// [`Table::physical_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Box<Partitioning>>,
}

/// What an ALTER TABLE that rewrites rows makes of a table: the new definition and, under an id of its own, the new
/// rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowTable {
    /// What writers do for it: from delete-only on they remove its rows, from write-only on they write them.
    pub state: SchemaState,
    /// The definition afterwards, with places of its own. A place that the table has, too, keeps its rows: they
    /// have no shadow rows.
    pub target: Table,
    pub conversion: Conversion,
}

/// How MySQL treats a table of `information_schema` and its like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemTraits {
    /// It is a view: in results, its columns have the view's names. The columns of other tables have the
    /// names that the query uses.
    pub is_view: bool,
    /// It is stored in InnoDB, so a query of it is part of a transaction.
    pub is_transactional: bool,
}

impl Table {
    /// A table with a name and columns, and no indexes. With a negative id nothing of it is stored
    /// ([`Table::is_virtual`]).
    pub fn of_columns(id: i64, database: &str, name: &str, columns: Vec<Column>) -> Self {
        Self {
            id,
            name: name.to_owned(),
            database: database.to_owned(),
            columns,
            indexes: Vec::new(),
            handle: Handle::Hidden,
            collation: Collation::DEFAULT,
            comment: String::new(),
            max_column_id: 0,
            max_index_id: 0,
            auto_increment_start: 1,
            shard_row_id_bits: 0,
            pre_split_regions: 0,
            created_us: 0,
            revision: 0,
            readable_from_ts: 0,
            view: None,
            system: SystemTraits::default(),
            checks: Vec::new(),
            bound: BoundCell::default(),
            foreign_keys: Vec::new(),
            shadow: None,
            options: CreateOptions::default(),
            temporary: None,
            physical: None,
            partitioning: None,
        }
    }
}

impl Table {
    /// The primary key of a table whose rows are stored by an integer, which needs no index. It has the id 0.
    pub fn integer_key(&self) -> Option<Index> {
        let Handle::Integer { column } = self.handle else {
            return None;
        };
        Some(Index {
            id: 0,
            name: "PRIMARY".to_owned(),
            parts: vec![IndexPart {
                descending: self.options.primary_descending(),
                ..IndexPart::whole(column)
            }],
            unique: true,
            primary: true,
            comment: self.options.primary_comment().to_owned(),
            state: SchemaState::Public,
            invisible: false,
            generated: false,
            using_btree: self.options.primary_using_btree(),
            full_text: None,
        })
    }

    /// Makes an integer the rows' keys, in the place of an index.
    pub fn set_integer_key(&mut self, column: usize, index: &Index) {
        self.handle = Handle::Integer { column };
        let descending = index.parts.iter().any(|part| part.descending);
        self.options
            .set_primary(&index.comment, index.using_btree, descending);
    }

    /// Whether an index has entries that sort by a part in descending order.
    pub fn has_descending_entries(&self) -> bool {
        let parts = self.indexes.iter().flat_map(|index| &index.parts);
        parts.into_iter().any(|part| part.stored_descending)
    }
}

/// What makes a row's key (`t{table}_r{handle}`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handle {
    /// A single-column integer primary key: the column's offset. Its value lives in the key only.
    Integer { column: usize },
    /// Any other primary key: the position of the primary index in [`Table::indexes`].
    Clustered { index: usize },
    /// No primary key: a hidden integer, allocated in sequence.
    Hidden,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    pub id: i64,
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    /// The statement named the column's character set or collation; SHOW CREATE TABLE then repeats both.
    #[serde(default)]
    pub explicit_collation: bool,
    pub default: Default,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub on_update_now: bool,
    pub auto_increment: bool,
    #[serde(default)]
    pub auto_random: Option<AutoRandom>,
    pub comment: String,
    pub state: SchemaState,
    /// The value of rows that were written before ALTER TABLE ADD COLUMN (text in the form of
    /// [`Default::Literal`]).
    pub original_default: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// `INVISIBLE`: `*` and an INSERT without a list of columns leave it out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub invisible: bool,
    /// The expression of an index: a generated column that no statement can name.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// The expression of a multi-valued index: the column is a JSON array of values of this type, and an index has an
    /// entry for each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<SqlType>,
    /// `COLUMN_FORMAT` and `STORAGE`.
    #[serde(default, skip_serializing_if = "CreateOptions::is_empty")]
    pub options: CreateOptions,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Column {
    /// A column with a name and a type, and defaults for everything else. Its id is 0.
    pub fn plain(name: impl Into<String>, ty: SqlType, nullable: bool) -> Self {
        Self {
            id: 0,
            name: name.into(),
            ty,
            nullable,
            explicit_collation: false,
            default: Default::None,
            on_update_now: false,
            auto_increment: false,
            auto_random: None,
            comment: String::new(),
            state: SchemaState::Public,
            original_default: None,
            generated: None,
            invisible: false,
            hidden: false,
            elements: None,
            options: CreateOptions::default(),
        }
    }

    /// The type of the values that an index of the column has.
    pub fn key_type(&self) -> SqlType {
        self.elements.unwrap_or(self.ty)
    }

    /// Whether it is a generated column that is not stored: its value is computed when a row is read.
    pub fn is_virtual(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| !generated.stored)
    }

    /// The default as it is stored: `DEFAULT NULL` of a nullable column means the same as no clause.
    pub fn effective_default(&self) -> Default {
        match &self.default {
            Default::Null if self.nullable => Default::None,
            other => other.clone(),
        }
    }

    /// Whether a row without a value for the column gets the next id.
    pub fn makes_ids(&self) -> bool {
        self.auto_increment || self.auto_random.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Default {
    /// No DEFAULT clause: NULL where the column is nullable, else the column must be given.
    None,
    Null,
    /// Text that is cast to the column's type: binary data as `0x` and hexadecimal digits; a FLOAT with all
    /// digits, of which clients see six.
    Literal(String),
    /// `CURRENT_TIMESTAMP(fsp)` and its synonyms; the precision is the column's.
    Now,
    /// `DEFAULT (expression)`. Older catalogs have only `(now(fsp))`, stored as its precision.
    #[serde(alias = "NowExpression", deserialize_with = "default_expression")]
    Expression(StoredExpression),
    /// `ALTER TABLE ... DROP DEFAULT` of a nullable column: it must be given from then on.
    Dropped,
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
    /// `INVISIBLE`: it is maintained, and queries do not use it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub invisible: bool,
    /// It was made for a foreign key only: a later index that begins with the same columns replaces it.
    #[serde(default)]
    pub generated: bool,
    /// `USING BTREE` was written, which is only shown: every index is one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub using_btree: bool,
    /// A FULLTEXT index: its part is a hidden column of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text: Option<FullText>,
}

/// What a FULLTEXT index has the words of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullText {
    /// The names of the columns, as the expression of the hidden column has them.
    pub columns: Vec<String>,
    /// `WITH PARSER ngram`
    #[serde(default, skip_serializing_if = "is_false")]
    pub ngram: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPart {
    /// Offset in [`Table::columns`].
    pub column: usize,
    /// `col(n)`: only the first `n` characters (bytes for binary columns) are in the index.
    pub prefix: Option<u32>,
    /// `DESC`.
    #[serde(default)]
    pub descending: bool,
    /// Entries sort by this part in descending order: those of indexes that were made with `DESC`, except for
    /// primary keys and for older indexes, whose entries ascend.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stored_descending: bool,
}

impl Index {
    /// The part of which a row has several values.
    pub fn multi_valued_part(&self, columns: &[Column]) -> Option<usize> {
        self.parts
            .iter()
            .position(|part| columns.get(part.column).is_some_and(|c| c.elements.is_some()))
    }

    /// The index with the parts that statements see: a FULLTEXT index has columns, and no hidden one.
    #[must_use]
    pub fn shown(&self, table: &Table) -> Self {
        let columns = self
            .full_text
            .as_ref()
            .and_then(|words| table.offsets_of(&words.columns));
        let mut shown = self.clone();
        if let Some(columns) = columns {
            shown.parts = columns.into_iter().map(IndexPart::whole).collect();
        }
        shown
    }

    /// Whether queries may read it.
    pub fn is_readable(&self) -> bool {
        self.is_readable_with(false)
    }

    /// The same where queries may read invisible ones, too.
    pub fn is_readable_with(&self, invisible: bool) -> bool {
        self.state == SchemaState::Public && (invisible || !self.invisible)
    }
}

impl IndexPart {
    /// A whole column, ascending.
    pub fn whole(column: usize) -> Self {
        Self {
            column,
            prefix: None,
            descending: false,
            stored_descending: false,
        }
    }
}

/// A qualified table name, the database filled in from the session's where the text gives none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableName {
    pub database: String,
    pub name: String,
}

impl TableName {
    pub fn of(table: &Table) -> Self {
        Self {
            database: table.database.clone(),
            name: table.name.clone(),
        }
    }
}

/// A foreign key, as part of the child table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignKey {
    pub name: String,
    /// Offsets in the child's columns.
    pub columns: Vec<usize>,
    pub parent: TableName,
    /// Names, since the parent need not exist.
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
    /// Writers obey it already, and existing rows are being checked. Statements see it afterwards.
    #[serde(default, skip_serializing_if = "is_false")]
    pub validating: bool,
}

/// What happens to the rows of the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, std::default::Default, Serialize, Deserialize)]
pub enum ReferenceAction {
    /// What is not written. InnoDB treats it as RESTRICT.
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    /// InnoDB treats it as RESTRICT.
    SetDefault,
}

impl ReferenceAction {
    pub fn sql(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }

    /// Whether it changes rows of the child.
    pub fn writes(self) -> bool {
        matches!(self, Self::Cascade | Self::SetNull)
    }
}

/// A key of one of a table's children.
#[derive(Debug, Clone)]
pub struct Reference {
    pub child: Arc<Table>,
    /// Position in the child's foreign keys.
    pub key: usize,
}

impl Reference {
    pub fn key(&self) -> Option<&ForeignKey> {
        self.child.foreign_keys.get(self.key)
    }
}

/// The children of all tables of a schema, by database and table, found at the first question.
#[derive(Debug, std::default::Default)]
pub(crate) struct ReferenceIndex(pub(crate) OnceLock<HashMap<String, HashMap<String, Vec<Reference>>>>);

impl Clone for ReferenceIndex {
    /// The copy of a schema is made to be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

const ER_NO_SYSTEM_TABLE_ACCESS: u16 = 3554;
const ER_NO_SYSTEM_VIEW_ACCESS: u16 = 3620;

/// The database whose name, and whose tables' names, are not case-sensitive.
pub const INFORMATION_SCHEMA: &str = "information_schema";

impl Schema {
    pub fn new(version: u64, databases: BTreeMap<String, Arc<Database>>) -> Self {
        Self {
            version,
            databases,
            references: ReferenceIndex::default(),
        }
    }

    /// A database by name.
    pub fn database(&self, name: &str) -> Option<&Arc<Database>> {
        self.databases.get(name).or_else(|| {
            let is_named = name.eq_ignore_ascii_case(INFORMATION_SCHEMA);
            self.databases.get(INFORMATION_SCHEMA).filter(|_| is_named)
        })
    }

    /// A table by name, the virtual ones included.
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.database(database)?.table(name)
    }

    /// [`Schema::database`], or 1049.
    pub fn require_database(&self, name: &str) -> Result<&Arc<Database>> {
        self.database(name)
            .ok_or_else(|| Error::new(errno::ER_BAD_DB_ERROR, format!("Unknown database '{name}'")))
    }

    /// [`Schema::table`], or 1049 or 1146.
    pub fn require_table(&self, database: &str, name: &str) -> Result<&Arc<Table>> {
        let found = self.require_database(database)?;
        found.table(name).ok_or_else(|| {
            if found.name == "mysql"
                && let Some(kind) = dictionary_tables::kind_of(name)
            {
                return Error::new(
                    ER_NO_SYSTEM_TABLE_ACCESS,
                    format!("Access to {kind} 'mysql.{name}' is rejected."),
                );
            }
            if found.name == INFORMATION_SCHEMA && name.eq_ignore_ascii_case("SHOW_STATISTICS") {
                return Error::new(
                    ER_NO_SYSTEM_VIEW_ACCESS,
                    format!("Access to system view INFORMATION_SCHEMA.'{name}' is rejected."),
                );
            }
            if found.name == INFORMATION_SCHEMA {
                return Error::new(
                    errno::ER_UNKNOWN_TABLE,
                    format!("Unknown table '{}' in {INFORMATION_SCHEMA}", name.to_uppercase()),
                );
            }
            Error::new(
                errno::ER_NO_SUCH_TABLE,
                format!("Table '{database}.{name}' doesn't exist"),
            )
        })
    }

    /// [`Schema::require_table`], or 1347 for a view.
    pub fn require_base_table(&self, database: &str, name: &str) -> Result<&Arc<Table>> {
        let table = self.require_table(database, name)?;
        match table.view {
            None => Ok(table),
            Some(_) => Err(wrong_object(database, name, "BASE TABLE")),
        }
    }

    /// All stored tables and views.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.databases
            .values()
            .filter(|d| !d.is_system())
            .flat_map(|d| d.tables.values())
    }

    /// A table by its id: a search through all tables.
    pub fn table_by_id(&self, id: i64) -> Option<&Arc<Table>> {
        self.databases
            .values()
            .flat_map(|d| d.tables.values())
            .find(|t| t.id == id)
    }
}

impl Database {
    /// A table by name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name).or_else(|| {
            if self.name != INFORMATION_SCHEMA {
                return None;
            }
            self.tables.get(&name.to_ascii_uppercase())
        })
    }

    /// Whether the server itself provides it (`information_schema` and others). It is not stored and cannot
    /// be changed.
    pub fn is_system(&self) -> bool {
        self.id < 0
    }
}

/// Error 1347: the name means a table where a view is needed, or the reverse.
pub fn wrong_object(database: &str, name: &str, wanted: &str) -> Error {
    Error::new(
        errno::ER_WRONG_OBJECT,
        format!("'{database}.{name}' is not {wanted}"),
    )
}

impl Table {
    /// Whether the server itself makes the table's rows (`information_schema`, `performance_schema`, `mysql`,
    /// `sys`).
    pub fn is_virtual(&self) -> bool {
        self.id < 0
    }

    /// Whether it is a table of one session only.
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Fails with 1412 when a snapshot at `ts` is older than what this definition can read.
    pub fn check_readable_at(&self, ts: u64) -> Result<()> {
        if ts >= self.readable_from_ts {
            return Ok(());
        }
        Err(Error::new(
            1412,
            "Table definition has changed, please retry transaction",
        ))
    }

    /// Offset of a column by name; column names are case-insensitive.
    pub fn column_offset(&self, name: &str) -> Option<usize> {
        let exact = self
            .columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name));
        // A table of an earlier version may have columns that differ by the case of other letters.
        exact.or_else(|| self.columns.iter().position(|c| types::same_name(&c.name, name)))
    }

    /// Offset of a column that statements can name.
    pub fn public_column(&self, name: &str) -> Option<usize> {
        let is_public = |column: &Column| column.state == SchemaState::Public && !column.hidden;
        self.column_offset(name)
            .filter(|&at| is_public(&self.columns[at]))
    }

    /// Offsets of columns by their names; `None` if one of them is not there.
    pub fn offsets_of(&self, columns: &[String]) -> Option<Vec<usize>> {
        columns.iter().map(|name| self.column_offset(name)).collect()
    }

    /// Offsets of the columns that statements can name.
    pub fn public_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len())
            .filter(|&i| self.columns[i].state == SchemaState::Public && !self.columns[i].hidden)
    }

    /// Offsets of the columns a `SELECT *` sees.
    pub fn visible_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.public_columns().filter(|&i| !self.columns[i].invisible)
    }

    /// The primary key's parts; none for a hidden handle.
    pub fn primary_parts(&self) -> Vec<IndexPart> {
        match self.handle {
            Handle::Integer { column } => vec![IndexPart::whole(column)],
            Handle::Clustered { index } => self.indexes[index].parts.clone(),
            Handle::Hidden => Vec::new(),
        }
    }

    /// The AUTO_INCREMENT column's offset.
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.auto_increment)
    }

    /// The column that gets its values from a counter: AUTO_INCREMENT's or AUTO_RANDOM's.
    pub fn id_column(&self) -> Option<usize> {
        self.columns.iter().position(Column::makes_ids)
    }

    /// How ids of the AUTO_RANDOM column are composed.
    pub fn auto_random_layout(&self) -> Option<IdLayout> {
        self.columns
            .iter()
            .find_map(|c| Some(c.auto_random?.layout(c.ty.unsigned)))
    }

    /// How hidden row ids are composed.
    pub fn row_id_layout(&self) -> IdLayout {
        IdLayout::of_row_ids(self.shard_row_id_bits)
    }

    /// The foreign keys that statements see.
    pub fn public_foreign_keys(&self) -> impl Iterator<Item = &ForeignKey> {
        self.foreign_keys.iter().filter(|key| !key.validating)
    }

    /// Indexes that are complete.
    pub fn public_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|i| i.state == SchemaState::Public)
    }

    /// `create_options` of `information_schema.tables`.
    pub fn listed_options(&self) -> String {
        let partitioned = self.partitioning.is_some().then(|| "partitioned".to_owned());
        let options = Some(self.options.listed()).filter(|text| !text.is_empty());
        options
            .into_iter()
            .chain(partitioned)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Checks the positions and ids within the definition, so that no user of it can index out of bounds. The
    /// error is the reason.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.columns.is_empty() {
            return Err("it has no columns".to_owned());
        }
        if self.physical.is_some() && self.partitioning.is_some() {
            return Err("it has partitions and a place beside them".to_owned());
        }
        let columns = self.columns.len();
        for (at, column) in self.columns.iter().enumerate() {
            if column.id <= 0 || column.id > self.max_column_id {
                return Err(format!("column {} has id {}", column.name, column.id));
            }
            if self.columns[..at].iter().any(|c| c.id == column.id) {
                return Err(format!("two columns have id {}", column.id));
            }
        }
        for (at, index) in self.indexes.iter().enumerate() {
            if index.parts.is_empty() || index.parts.iter().any(|p| p.column >= columns) {
                return Err(format!("index {} has parts that are no columns", index.name));
            }
            if index.id <= 0 || index.id > self.max_index_id {
                return Err(format!("index {} has id {}", index.name, index.id));
            }
            if self.indexes[..at].iter().any(|i| i.id == index.id) {
                return Err(format!("two indexes have id {}", index.id));
            }
        }
        let out_of_table = |key: &ForeignKey| key.columns.iter().any(|&column| column >= columns);
        if let Some(key) = self.foreign_keys.iter().find(|key| out_of_table(key)) {
            return Err(format!("foreign key {} has parts that are no columns", key.name));
        }
        match self.handle {
            Handle::Integer { column } if self.columns.get(column).is_none_or(|c| !c.ty.is_integer()) => {
                Err("its handle is no integer column".to_owned())
            }
            Handle::Clustered { index } if self.indexes.get(index).is_none_or(|i| !i.primary) => {
                Err("its handle is no primary index".to_owned())
            }
            _ => Ok(()),
        }
    }
}
