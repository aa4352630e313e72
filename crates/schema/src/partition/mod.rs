//! Partitions: which rows of a table lie together, under a physical id of their own.
//!
//! - This file: the definition, as it is stored.
//! - [`function`]: from a row's values to its partition. [`key_hash`]: MySQL's hash of KEY partitioning.
//! - [`prune`]: from ranges of column values to the partitions that may have such rows.
//! - [`show`]: the text of SHOW CREATE TABLE.

pub mod function;
mod key_hash;
pub mod prune;
pub mod show;

use serde::{Deserialize, Serialize};
use types::{Collation, Error, Result};

use crate::expression::StoredExpression;

/// MySQL's limit, subpartitions included (manual 24.6).
pub const MAX_PARTITIONS: usize = 8192;

/// `PARTITION BY ...`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partitioning {
    pub by: PartitionBy,
    /// HASH or KEY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<PartitionBy>,
    pub partitions: Vec<Partition>,
    /// The statement listed them; otherwise it gave their number only, and SHOW CREATE TABLE does so too.
    pub listed: bool,
    /// The statement gave their number, which is shown even if it is 1.
    #[serde(default)]
    pub count_given: bool,
    #[serde(default)]
    pub subpartitions_listed: bool,
}

/// What decides where a row lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartitionBy {
    pub method: Method,
    /// LINEAR HASH, LINEAR KEY.
    #[serde(default)]
    pub linear: bool,
    pub key: PartitionKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    Range,
    List,
    Hash,
    Key,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PartitionKey {
    Expression(StoredExpression),
    /// Names: such columns cannot be renamed. KEY without columns: those of the primary key.
    Columns(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    pub name: String,
    /// LESS THAN has one tuple, IN has many; HASH and KEY have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Vec<Bound>>,
    #[serde(default)]
    pub options: PartitionOptions,
    /// Where its rows lie, unless it has subpartitions. 0 until a definition statement has allocated it.
    pub id: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subpartitions: Vec<Subpartition>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subpartition {
    pub name: String,
    #[serde(default)]
    pub options: PartitionOptions,
    pub id: i64,
}

/// A value in a partition's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bound {
    Maxvalue,
    Null,
    /// A literal, as SHOW CREATE TABLE shows it.
    Literal(String),
}

/// Options of a partition. Those that InnoDB ignores are shown only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionOptions {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rows: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodegroup: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tablespace: Option<String>,
}

/// One place of rows: a partition, or a subpartition.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a> {
    pub partition: &'a Partition,
    pub subpartition: Option<&'a Subpartition>,
    pub id: i64,
}

impl Leaf<'_> {
    /// As EXPLAIN shows it: `p0`, `p0_p0sp1`.
    pub fn name(&self) -> String {
        match self.subpartition {
            Some(sub) => format!("{}_{}", self.partition.name, sub.name),
            None => self.partition.name.clone(),
        }
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::List => "LIST",
            Self::Hash => "HASH",
            Self::Key => "KEY",
        }
    }

    /// RANGE and LIST, whose partitions have values.
    pub fn has_values(self) -> bool {
        matches!(self, Self::Range | Self::List)
    }
}

impl PartitionBy {
    /// The columns of COLUMNS or KEY.
    pub fn columns(&self) -> Option<&[String]> {
        match &self.key {
            PartitionKey::Columns(columns) => Some(columns),
            PartitionKey::Expression(_) => None,
        }
    }

    /// `RANGE COLUMNS`, `LINEAR HASH` ..., as PARTITION_METHOD of information_schema has it.
    pub fn method_name(&self) -> String {
        let linear = if self.linear { "LINEAR " } else { "" };
        let columns = match self.method.has_values() && self.columns().is_some() {
            true => " COLUMNS",
            false => "",
        };
        format!("{linear}{}{columns}", self.method.name())
    }
}

impl Partition {
    /// The number of its physical ids.
    pub fn width(&self) -> usize {
        self.subpartitions.len().max(1)
    }

    /// Whether a statement has named its subpartitions, or given them options of their own.
    pub fn lists_subpartitions(&self) -> bool {
        let mut subpartitions = self.subpartitions.iter().enumerate();
        subpartitions.any(|(number, sub)| {
            sub.name != generated_subpartition_name(&self.name, number) || sub.options != self.options
        })
    }

    fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        let whole = self.subpartitions.is_empty().then_some(Leaf {
            partition: self,
            subpartition: None,
            id: self.id,
        });
        whole.into_iter().chain(self.subpartitions.iter().map(|sub| Leaf {
            partition: self,
            subpartition: Some(sub),
            id: sub.id,
        }))
    }

    /// Allocates its physical ids that are 0.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn place(&mut self, next: &mut impl FnMut() -> Result<i64>) -> Result<()> {
        if self.subpartitions.is_empty() {
            if self.id == 0 {
                self.id = next()?;
            }
            return Ok(());
        }
        for sub in &mut self.subpartitions {
            if sub.id == 0 {
                sub.id = next()?;
            }
        }
        Ok(())
    }

    /// Sets its physical ids to 0.
    pub fn clear_ids(&mut self) {
        self.id = 0;
        for sub in &mut self.subpartitions {
            sub.id = 0;
        }
    }
}

/// The collation of partitions' names.
const NAMES: Collation = Collation::Utf8mb3GeneralCi;

/// Whether two names of partitions are the same.
pub fn same_name(a: &str, b: &str) -> bool {
    NAMES.equal(a.as_bytes(), b.as_bytes())
}

/// Equal for names that are [the same](same_name).
pub fn name_key(name: &str) -> Vec<u8> {
    let mut key = Vec::new();
    NAMES.sort_key(name.as_bytes(), &mut key);
    key
}

/// `p0sp1`: the name of a subpartition that a statement does not list.
pub fn generated_subpartition_name(partition: &str, number: usize) -> String {
    format!("{partition}sp{number}")
}

impl Partitioning {
    /// The number of places that each partition has.
    pub fn width(&self) -> usize {
        self.partitions.first().map_or(1, Partition::width)
    }

    /// The places of rows, in order.
    pub fn leaves(&self) -> impl Iterator<Item = Leaf<'_>> {
        self.partitions.iter().flat_map(Partition::leaves)
    }

    /// Positions among the leaves of what is named: a partition with all that it has, or a subpartition.
    pub fn leaves_named(&self, name: &str) -> Vec<usize> {
        let is_named = |leaf: &Leaf<'_>| {
            let is_sub = leaf.subpartition.is_some_and(|sub| same_name(&sub.name, name));
            is_sub || same_name(&leaf.partition.name, name)
        };
        let leaves = self.leaves().enumerate();
        leaves
            .filter(|(_, leaf)| is_named(leaf))
            .map(|(at, _)| at)
            .collect()
    }

    /// The position of a partition that DROP or REORGANIZE names. MySQL compares names with their accents there, and
    /// without them where a statement selects or truncates a partition: [`Self::leaves_named`].
    pub fn partition_named(&self, name: &str) -> Option<usize> {
        let mut partitions = self.partitions.iter();
        partitions.position(|partition| types::same_name(&partition.name, name))
    }

    /// Allocates the physical ids that are 0.
    ///
    /// # Errors
    /// Those of `next`.
    pub fn place(&mut self, mut next: impl FnMut() -> Result<i64>) -> Result<()> {
        self.partitions
            .iter_mut()
            .try_for_each(|partition| partition.place(&mut next))
    }

    pub fn clear_ids(&mut self) {
        self.partitions.iter_mut().for_each(Partition::clear_ids);
    }
}

/// Error 1735.
pub fn unknown_partition(name: &str, table: &str) -> Error {
    Error::new(1735, format!("Unknown partition '{name}' in table '{table}'"))
}
