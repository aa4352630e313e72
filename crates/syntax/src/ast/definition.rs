//! Data definition as written.

use super::{Expr, ObjectName};

#[derive(Debug, Clone, Default)]
pub struct DatabaseOptions {
    pub charset: Option<String>,
    pub collation: Option<String>,
}

#[derive(Debug, Clone)]
pub struct CreateTable {
    pub name: ObjectName,
    pub if_not_exists: bool,
    pub elements: Vec<TableElement>,
    pub options: TableOptions,
}

#[derive(Debug, Clone)]
pub enum TableElement {
    Column(ColumnDefinition),
    Index(IndexDefinition),
}

#[derive(Debug, Clone)]
pub struct ColumnDefinition {
    pub name: String,
    pub ty: DataType,
    /// `NULL` or `NOT NULL`, whichever was written last.
    pub nullable: Option<bool>,
    pub default: Option<DefaultClause>,
    /// `ON UPDATE CURRENT_TIMESTAMP(n)`: the precision written.
    pub on_update: Option<u8>,
    pub auto_increment: bool,
    pub auto_random: Option<AutoRandomBits>,
    pub primary: bool,
    pub unique: bool,
    pub comment: Option<String>,
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
    /// The same in parentheses: an expression.
    NowExpression(u8),
}

/// A column's type: MySQL's name for it, and everything that may follow.
#[derive(Debug, Clone)]
pub struct DataType {
    pub name: TypeName,
    pub length: Option<u64>,
    pub decimals: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    pub charset: Option<String>,
    /// The character set is there because the type is NCHAR or one of its like.
    pub national: bool,
    pub collation: Option<String>,
    /// `BINARY` behind a character type: the character set's binary collation.
    pub binary: bool,
    /// Of ENUM and SET.
    pub members: Vec<String>,
}

/// Types by what they are, their synonyms resolved.
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
    /// `USING HASH`. InnoDB makes a BTREE instead.
    pub hash: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
}

#[derive(Debug, Clone)]
pub struct IndexPart {
    pub column: String,
    pub prefix: Option<u32>,
    pub descending: bool,
    /// ASC or DESC was written.
    pub ordered: bool,
}

/// What is not here was read and has no meaning for StemDB (ROW_FORMAT and its like).
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
    DropPrimaryKey,
    RenameIndex(String, String),
    RenameColumn(String, String),
    RenameTable(ObjectName),
    SetDefault(String, Option<DefaultClause>),
    Options(TableOptions),
    /// `CONVERT TO CHARACTER SET`.
    ConvertTo(DatabaseOptions),
}

/// `ALGORITHM = ...` and `LOCK = ...` of ALTER TABLE, CREATE INDEX and DROP INDEX (manual 13.1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlterOptions {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
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

/// Objects of a database that are no stored tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    View,
    Procedure,
    Function,
    Trigger,
    Event,
    TemporaryTable,
}

#[derive(Debug, Clone)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}
