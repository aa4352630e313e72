//! Access paths: which index of a table, and which ranges of it, a statement reads.
//!
//! - [`sarg`]: which conditions an index can serve ("search arguments"), and which intervals of it they
//!   allow.
//! - [`like`]: prefixes of LIKE. [`paths`]: conditions combined to ranges, index by index. [`alternatives`]: an OR
//!   about several columns.
//! - [`generated`]: expressions that are generated columns. [`multi_valued`]: arrays whose elements an index has.
//!   [`words_of`]: words that a FULLTEXT index has.
//! - [`mod@union`]: several indexes, for the parts of an OR.
//! - [`group_ends`]: the ends of groups of entries, where no others are wanted.
//! - [`order`]: which orders an index gives without a sort. [`cost`]: what a path costs. [`mod@choose`]: the
//!   cheapest by one index; [`cheapest`]: of all.
//!
//! A condition that the path does not guarantee stays a filter; so does one where this is in doubt.

mod alternatives;
mod cheapest;
mod choose;
mod cost;
mod fold;
mod generated;
mod group_ends;
pub mod interval;
mod like;
mod multi_valued;
mod order;
mod partitions;
mod paths;
pub mod sarg;
mod union;
mod words_of;

use functions::Expr;
use schema::model::Table;

use planner::plan::{Access, ScanPartitions};
use syntax::ast::IndexHint;

use crate::estimates::TableEstimate;

pub use cheapest::choose;
pub use choose::full;
pub use fold::is_constant;
pub use generated::with_generated_columns;
pub use group_ends::{Grouping, ends_of_groups};

/// The request for a table's rows.
pub struct Request<'a> {
    pub table: &'a Table,
    /// The table's name in the statement, for errors.
    pub alias: &'a str,
    /// Conditions that all rows must satisfy, over all the table's columns.
    pub conjuncts: Vec<Expr>,
    /// Offsets of the columns wanted above the scan.
    pub columns: &'a [usize],
    /// Wanted order: column offsets, and whether descending. Empty if there is none that an index could give.
    pub order: Vec<(usize, bool)>,
    pub limit: RowLimit,
    pub hints: &'a [IndexHint],
    /// `use_invisible_indexes` of `optimizer_switch`
    pub invisible: bool,
    /// Several indexes may be read.
    pub unions: bool,
    /// Positions of the partitions that the statement names; `None`: all.
    pub named_partitions: Option<&'a [usize]>,
    pub estimate: TableEstimate<'a>,
}

/// How many rows are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowLimit {
    All,
    /// A number that only the execution has.
    Some,
    AtMost(u64),
}

/// The chosen access path.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub access: Access,
    /// The conditions that the path does not guarantee.
    pub residual: Vec<Expr>,
    /// Rows come in the wanted order.
    pub ordered: bool,
    /// About how many rows are read, for comparisons: not too few of a small table, which may grow.
    pub rows: f64,
    /// About how many rows are read, for EXPLAIN.
    pub expected: f64,
    /// All rows of the table are read.
    pub wide: bool,
    /// At most one row per key is read.
    pub points: bool,
    /// Names of the indexes that were candidates.
    pub possible_keys: Vec<String>,
    /// `None`: the table has no partitions.
    pub partitions: Option<Box<ScanPartitions>>,
}
