//! Partitions of a table as written (manual 13.1.20 and 13.1.9.1).

use super::{Expr, ObjectName};

/// `PARTITION BY ...`
#[derive(Debug, Clone)]
pub struct Partitioning {
    pub by: PartitionBy,
    /// `PARTITIONS n`
    pub count: Option<u64>,
    pub subpartitioning: Option<Subpartitioning>,
    /// Empty if none are written.
    pub partitions: Vec<PartitionDefinition>,
}

/// `SUBPARTITION BY ... [SUBPARTITIONS n]`
#[derive(Debug, Clone)]
pub struct Subpartitioning {
    pub by: PartitionBy,
    pub count: Option<u64>,
}

/// What decides to which partition a row belongs.
#[derive(Debug, Clone)]
pub enum PartitionBy {
    Range(Expr),
    RangeColumns(Vec<String>),
    List(Expr),
    ListColumns(Vec<String>),
    Hash {
        linear: bool,
        expr: Expr,
    },
    /// No columns: those of the primary key.
    Key {
        linear: bool,
        /// `ALGORITHM = 1`: the hash of MySQL 5.1.
        algorithm: Option<u64>,
        columns: Vec<String>,
    },
}

/// `PARTITION name ...`
#[derive(Debug, Clone)]
pub struct PartitionDefinition {
    pub name: String,
    pub values: PartitionValues,
    pub options: PartitionOptions,
    pub subpartitions: Vec<SubpartitionDefinition>,
}

#[derive(Debug, Clone)]
pub struct SubpartitionDefinition {
    pub name: String,
    pub options: PartitionOptions,
}

#[derive(Debug, Clone)]
pub enum PartitionValues {
    None,
    /// `VALUES LESS THAN MAXVALUE`, without parentheses.
    LessThanMaxvalue,
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN (1, 2)`: each value is a list of one. `tuples`: each list was in parentheses.
    In {
        values: Vec<Vec<PartitionBound>>,
        tuples: bool,
    },
}

#[derive(Debug, Clone)]
pub enum PartitionBound {
    Maxvalue,
    Value(Expr),
}

#[derive(Debug, Clone, Default)]
pub struct PartitionOptions {
    pub engine: Option<String>,
    pub comment: Option<String>,
    pub max_rows: Option<u64>,
    pub min_rows: Option<u64>,
    pub nodegroup: Option<u64>,
    pub tablespace: Option<String>,
}

/// `ALL`, or names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionNames {
    All,
    Named(Vec<String>),
}

/// An action of ALTER TABLE on partitions. It must be the statement's only item, except for
/// [`PartitionAction::By`].
#[derive(Debug, Clone)]
pub enum PartitionAction {
    By(Partitioning),
    /// REMOVE PARTITIONING
    Remove,
    Add(Vec<PartitionDefinition>),
    /// `ADD PARTITION PARTITIONS n`
    AddCount(u64),
    Drop(Vec<String>),
    Truncate(PartitionNames),
    Coalesce(u64),
    /// Without names: `REORGANIZE PARTITION`.
    Reorganize {
        names: Vec<String>,
        into: Vec<PartitionDefinition>,
    },
    Exchange {
        partition: String,
        table: ObjectName,
        validates: bool,
    },
    Rebuild(PartitionNames),
}
