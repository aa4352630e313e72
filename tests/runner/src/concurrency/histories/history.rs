//! What clients have seen, as the checker needs it.

use std::collections::HashSet;
use std::time::Instant;

/// A list: the number of its table, and its row.
pub type List = (u64, u64);

/// All elements of a list at one moment. A row that does not exist is an empty list.
#[derive(Debug, Clone)]
pub struct Read {
    pub list: List,
    pub values: Vec<u64>,
}

/// Something that happened at once, as far as others can see: a snapshot, or a commit.
#[derive(Debug, Clone)]
pub struct Moment {
    pub name: String,
    /// Of a commit: what its locking reads found, without the transaction's own elements.
    pub reads: Vec<Read>,
    /// Each value is appended to a list by one transaction only.
    pub appends: Vec<(List, u64)>,
    /// It happened between these two.
    pub asked: Instant,
    pub answered: Instant,
}

#[derive(Debug, Default)]
pub struct History {
    pub moments: Vec<Moment>,
    /// Values of transactions, savepoints and statements that were rolled back.
    pub aborted: HashSet<u64>,
}
