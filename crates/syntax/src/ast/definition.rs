//! Data definition as written.

use super::{Expr, Maintenance, ObjectName, PartitionAction, PartitionNames, Partitioning, Query};

#[derive(Debug, Clone, Default)]
pub struct DatabaseOptions {
    pub charset: Option<String>,
    pub collation: Option<String>,
}

#[derive(Debug, Clone)]
pub struct CreateTable {
    pub name: ObjectName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub elements: Vec<TableElement>,
    pub options: TableOptions,
    pub partitioning: Option<Box<Partitioning>>,
    pub select: Option<CreateSelect>,
}

/// `[IGNORE | REPLACE] [AS] query` of CREATE TABLE.
#[derive(Debug, Clone)]
pub struct CreateSelect {
    pub query: Box<Query>,
    pub duplicates: DuplicateRows,
}

/// What happens to a row whose unique key an earlier row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateRows {
    Refused,
    /// IGNORE
    LeftOut,
    /// REPLACE
    Replacing,
}

// The size of the largest variant does not matter: there are few elements, and nearly all are columns.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum TableElement {
    Column(ColumnDefinition),
    Index(IndexDefinition),
    Check(CheckDefinition),
    ForeignKey(ForeignKeyDefinition),
}

/// `[CONSTRAINT name] CHECK (condition) [[NOT] ENFORCED]`
#[derive(Debug, Clone)]
pub struct CheckDefinition {
    pub name: Option<String>,
    pub condition: Expr,
    pub enforced: bool,
}

/// `[GENERATED ALWAYS] AS (value) [VIRTUAL | STORED]`
#[derive(Debug, Clone)]
pub struct GeneratedClause {
    pub value: Expr,
    pub stored: bool,
}

#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    pub name: String,
    pub ty: DataType,
    /// `NULL` or `NOT NULL`, whichever was written last. AUTO_INCREMENT is also NOT NULL.
    pub nullable: Option<bool>,
    /// `NULL` was written, whatever is behind it.
    pub says_null: bool,
    pub default: Option<DefaultClause>,
    /// `ON UPDATE CURRENT_TIMESTAMP(n)`: the precision written.
    pub on_update: Option<u8>,
    pub auto_increment: bool,
    pub auto_random: Option<AutoRandomBits>,
    pub primary: bool,
    pub unique: bool,
    pub comment: Option<String>,
    pub generated: Option<GeneratedClause>,
    /// CHECK constraints that stand after the column.
    pub checks: Vec<CheckDefinition>,
    pub invisible: bool,
    /// Attributes that InnoDB only shows: names and values.
    pub shown: Vec<(String, String)>,
}

/// `AUTO_RANDOM[(shard bits[, range bits])]`, TiDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AutoRandomBits {
    pub shard: Option<u64>,
    pub range: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DefaultClause {
    /// A literal, with its sign.
    Literal(Expr),
    /// `CURRENT_TIMESTAMP(n)`, `NOW(n)` ...
    Now(u8),
    /// `(value)`
    Expression(Expr),
}

/// A column's type: MySQL's name for it, and everything that may follow.
#[derive(Debug, Clone, PartialEq)]
pub struct DataType {
    pub name: TypeName,
    pub length: Option<u64>,
    pub decimals: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    pub charset: Option<String>,
    /// The character set follows from the type: NCHAR or a synonym.
    pub national: bool,
    pub collation: Option<String>,
    /// `BINARY` after a character type: the character set's binary collation.
    pub binary: bool,
    /// `BINARY`, `ASCII` and `UNICODE` as they were written: MySQL warns of each.
    pub deprecated: Vec<&'static str>,
    /// Of ENUM and SET.
    pub members: Vec<Member>,
}

/// A member of an ENUM or SET as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Member {
    Text(String),
    /// A hexadecimal or bit literal: bytes in the column's character set.
    Bytes(Vec<u8>),
}

/// Types, with their synonyms resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeName {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    /// `BOOL`: TINYINT(1).
    Bool,
    /// `SERIAL`: BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE.
    Serial,
    Decimal,
    /// `FLOAT`, `FLOAT(p)`, `FLOAT(m, d)`.
    Float,
    Double,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Json,
    Bit,
    Enum,
    Set,
}

#[derive(Debug, Clone)]
pub struct IndexDefinition {
    pub kind: IndexKind,
    pub name: Option<String>,
    pub parts: Vec<IndexPart>,
    pub comment: String,
    /// `USING BTREE | HASH`
    pub using: Option<IndexType>,
    pub invisible: bool,
    /// `WITH PARSER name` of a FULLTEXT index.
    pub parser: Option<String>,
    /// The columns of a FULLTEXT index whose part is, since it was bound, the words of these.
    pub words_of: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexType {
    BTree,
    /// InnoDB makes a BTREE instead.
    Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    FullText,
}

#[derive(Debug, Clone)]
pub struct IndexPart {
    pub column: String,
    /// `(expression)` instead of a column, whose name is then empty.
    pub expression: Option<Expr>,
    pub prefix: Option<u32>,
    pub descending: bool,
    /// ASC or DESC was written.
    pub ordered: bool,
}

/// `[CONSTRAINT [name]] FOREIGN KEY [index] (columns) REFERENCES parent (columns) ...`. As in InnoDB, MATCH
/// is parsed and has no effect.
#[derive(Debug, Clone)]
pub struct ForeignKeyDefinition {
    pub name: Option<String>,
    pub index: Option<String>,
    pub columns: Vec<String>,
    pub parent: ObjectName,
    /// Empty if none are written.
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferenceAction {
    #[default]
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// Options that are missing here are parsed and have no effect in StemDB (ROW_FORMAT, for example).
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    pub engine: Option<String>,
    pub auto_increment: Option<u64>,
    pub auto_random_base: Option<u64>,
    pub shard_row_id_bits: Option<u64>,
    pub pre_split_regions: Option<u64>,
    pub comment: Option<String>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// Options without an effect that SHOW CREATE TABLE shows: names in capital letters, and values.
    pub shown: Vec<(String, String)>,
    /// Which of `DATA DIRECTORY` and `INDEX DIRECTORY` are given. Their values have no effect.
    pub directories: Vec<&'static str>,
    pub tablespace: Option<String>,
    /// In bytes.
    pub autoextend_size: Option<u64>,
}

#[derive(Debug, Clone)]
pub enum AlterItem {
    AddColumn(ColumnDefinition, ColumnPosition),
    DropColumn(String),
    /// MODIFY, and CHANGE with the old name.
    ModifyColumn {
        name: String,
        definition: ColumnDefinition,
        position: Option<ColumnPosition>,
    },
    AddIndex(IndexDefinition),
    DropIndex(String),
    AddForeignKey(ForeignKeyDefinition),
    DropForeignKey(String),
    /// A foreign key or an index of this name.
    DropConstraint(String),
    DropPrimaryKey,
    RenameIndex(String, String),
    RenameColumn(String, String),
    RenameTable(ObjectName),
    SetDefault(String, Option<DefaultClause>),
    /// `ALTER COLUMN name SET VISIBLE | INVISIBLE`
    SetColumnVisibility {
        column: String,
        invisible: bool,
    },
    /// `ALTER INDEX name VISIBLE | INVISIBLE`
    SetIndexVisibility {
        index: String,
        invisible: bool,
    },
    AddCheck(CheckDefinition),
    /// `DROP CHECK name`
    DropCheck(String),
    /// `ALTER CHECK | CONSTRAINT name [NOT] ENFORCED`
    AlterCheck {
        name: String,
        enforced: bool,
        of_any_kind: bool,
    },
    Options(TableOptions),
    /// `DISABLE KEYS`, `ENABLE KEYS`
    Keys,
    /// `FORCE`
    Force,
    /// `ORDER BY`. Its columns have no effect if the table has a primary key.
    OrderBy,
    /// `CONVERT TO CHARACTER SET`.
    ConvertTo(DatabaseOptions),
    Partition(Box<PartitionAction>),
    /// `ANALYZE | CHECK | OPTIMIZE | REPAIR PARTITION ...`
    MaintainPartitions(Maintenance, PartitionNames),
}

/// `ALGORITHM = ...` and `LOCK = ...` of ALTER TABLE, CREATE INDEX and DROP INDEX (manual 13.1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlterOptions {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
    /// WITH or WITHOUT VALIDATION, if one is given.
    pub validation: Option<bool>,
    /// The statement is CREATE INDEX or DROP INDEX, which need another privilege than ALTER TABLE.
    pub is_index_statement: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterAlgorithm {
    #[default]
    Default,
    Instant,
    Inplace,
    Copy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterLock {
    #[default]
    Default,
    None,
    Shared,
    Exclusive,
}

/// Objects of a database other than tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    View,
    Procedure,
    Function,
    Trigger,
    Event,
}

/// What a statement does with a stored program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramAction {
    Call,
    Alter,
    ShowCreate,
}

#[derive(Debug, Clone)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}
