//! Definitions: what a data definition statement asks for. Made by `planner`, carried out by `ddl`.

use types::Collation;

use crate::create_options::CreateOptions;
use crate::expression::{Check, StoredExpression};
use crate::model::{Column, Default, FullText, Handle, Index, ReferenceAction};
use crate::partition::{Partition, Partitioning};
use crate::view::View;

pub use crate::model::TableName;

/// A data definition statement.
#[derive(Debug, Clone)]
pub enum Ddl {
    CreateDatabase {
        name: String,
        if_not_exists: bool,
        collation: Option<Collation>,
    },
    AlterDatabase {
        name: String,
        collation: Collation,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable {
        name: TableName,
        definition: TableDefinition,
        if_not_exists: bool,
    },
    CreateTableLike {
        name: TableName,
        source: TableName,
        if_not_exists: bool,
    },
    DropTable {
        names: Vec<TableName>,
        if_exists: bool,
    },
    TruncateTable {
        name: TableName,
    },
    RenameTable {
        renames: Vec<(TableName, TableName)>,
    },
    AlterTable {
        name: TableName,
        changes: Vec<AlterChange>,
        way: AlterWay,
    },
    AlterPartitions {
        name: TableName,
        change: PartitionChange,
        way: AlterWay,
    },
    ExchangePartition {
        name: TableName,
        partition: String,
        other: TableName,
        validates: bool,
    },
    CreateView {
        name: TableName,
        verb: ViewVerb,
        /// Without ids.
        columns: Vec<Column>,
        view: View,
    },
    DropView {
        names: Vec<TableName>,
        if_exists: bool,
    },
}

/// What ALTER TABLE does with the partitions of a table. Partitions have no places yet.
#[derive(Debug, Clone)]
pub enum PartitionChange {
    /// PARTITION BY
    By(Box<Partitioning>),
    /// REMOVE PARTITIONING
    Remove,
    Add(Vec<Partition>),
    AddCount(u64),
    Drop(Vec<String>),
    /// `None`: ALL.
    Truncate(Option<Vec<String>>),
    Coalesce(u64),
    Reorganize {
        names: Vec<String>,
        into: Vec<Partition>,
    },
    Rebuild(Option<Vec<String>>),
}

/// What CREATE VIEW and ALTER VIEW do about a view that is there, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewVerb {
    Create,
    /// CREATE OR REPLACE
    Replace,
    Alter,
}

/// `ALGORITHM = ...` and `LOCK = ...` of ALTER TABLE, CREATE INDEX and DROP INDEX (manual 13.1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, std::default::Default)]
pub struct AlterWay {
    pub algorithm: AlterAlgorithm,
    pub lock: AlterLock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, std::default::Default)]
pub enum AlterAlgorithm {
    #[default]
    Default,
    Instant,
    Inplace,
    Copy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, std::default::Default)]
pub enum AlterLock {
    #[default]
    Default,
    None,
    Shared,
    Exclusive,
}

/// A definition whose columns and indexes have no ids yet (0) and state Public. [`crate::new_table()`] checks
/// it as a whole (names, key lengths, row size ...), gives an index with an empty name the name MySQL would,
/// makes the primary key's columns NOT NULL, and puts indexes into MySQL's order.
#[derive(Debug, Clone)]
pub struct TableDefinition {
    pub columns: Vec<Column>,
    pub indexes: Vec<Index>,
    pub handle: Handle,
    pub collation: Collation,
    pub comment: String,
    /// The first value of AUTO_INCREMENT or AUTO_RANDOM.
    pub auto_increment_start: u64,
    /// As written: [`crate::new_table()`] reduces them to their maximum.
    pub shard_row_id_bits: u64,
    pub pre_split_regions: u64,
    pub checks: Vec<Check>,
    /// Their indexes are among the others.
    pub foreign_keys: Vec<NewForeignKey>,
    pub options: CreateOptions,
    /// Without physical ids.
    pub partitioning: Option<Box<Partitioning>>,
}

/// `[CONSTRAINT name] FOREIGN KEY ...`
#[derive(Debug, Clone)]
pub struct NewForeignKey {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub parent: TableName,
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
}

#[derive(Debug, Clone)]
pub enum AlterChange {
    AddColumn {
        column: Column,
        position: Position,
    },
    DropColumn {
        name: String,
    },
    /// Columns have names here: offsets depend on the other changes.
    AddIndex {
        name: Option<String>,
        columns: Vec<IndexColumn>,
        unique: bool,
        comment: String,
        invisible: bool,
        /// See [`Index::generated`].
        generated: bool,
        primary: bool,
        using_btree: bool,
        full_text: Option<FullText>,
    },
    DropIndex {
        name: String,
    },
    /// Its index is added besides.
    AddForeignKey(NewForeignKey),
    DropForeignKey {
        name: String,
    },
    /// A foreign key or an index.
    DropConstraint {
        name: String,
    },
    RenameIndex {
        from: String,
        to: String,
    },
    /// MODIFY and CHANGE COLUMN: `column` is the whole new definition with its name.
    ModifyColumn {
        name: String,
        column: Column,
        position: Option<Position>,
    },
    RenameColumn {
        from: String,
        to: String,
    },
    RenameTable {
        to: TableName,
    },
    SetDefault {
        column: String,
        default: Option<Default>,
    },
    /// PARTITION BY or REMOVE PARTITIONING; another change of partitions stands alone.
    Repartition(PartitionChange),
    AutoIncrement(u64),
    AutoRandomBase(u64),
    ShardRowIdBits(u64),
    Comment(String),
    DefaultCollation(Collation),
    SetColumnVisibility {
        column: String,
        invisible: bool,
    },
    SetIndexVisibility {
        index: String,
        invisible: bool,
    },
    /// Without a name it gets one: `table_chk_n`.
    AddCheck {
        name: Option<String>,
        expression: StoredExpression,
        enforced: bool,
        /// The column that it stands after.
        column: Option<String>,
    },
    DropCheck {
        name: String,
    },
    DropPrimaryKey,
    /// `DISABLE KEYS`, `ENABLE KEYS`: nothing, with a note.
    Keys,
    /// Names and values for [`CreateOptions::set`].
    Options(Vec<(String, String)>),
    /// FORCE, `ENGINE = InnoDB`: there is nothing to rebuild.
    Rebuild,
    /// `ORDER BY`, in which rows are by their primary key.
    OrderBy,
    /// WITH VALIDATION: the rows are copied, so that the values of generated columns must fit.
    Validate,
    /// `ALGORITHM = COPY`: the rows are copied.
    Copy,
    AlterCheck {
        name: String,
        enforced: bool,
    },
}

#[derive(Debug, Clone)]
pub enum Position {
    Last,
    First,
    After(String),
}

#[derive(Debug, Clone)]
pub struct IndexColumn {
    pub name: String,
    pub prefix: Option<u32>,
    /// See [`crate::model::IndexPart::descending`].
    pub descending: bool,
}
