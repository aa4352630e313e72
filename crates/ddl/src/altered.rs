//! What an ALTER TABLE makes of a definition, and what it has to do about the rows.

use schema::definition::TableName;
use schema::model::{ForeignKey, Table};
use schema::shadow::Conversion;
use types::{Error, Warning};

use crate::page_work::Backfilled;
use crate::rewrite::Rewrite;

/// The result of an ALTER TABLE.
#[derive(Debug)]
pub(crate) struct Altered {
    /// The table afterwards, except for its new name. Indexes that must be built are in it, as public ones.
    pub table: Table,
    /// Ids of the indexes that must be built, and of those that are removed.
    pub new_indexes: Vec<i64>,
    pub dropped_indexes: Vec<i64>,
    /// The names of CHECK constraints that all rows must satisfy.
    pub new_checks: Vec<String>,
    /// The error if the table has a row.
    pub only_if_empty: Option<Error>,
    /// Set if the rows must be rewritten; then there are no new indexes beside them.
    pub rewrite: Option<Rewrite>,
    pub conversion: Option<Conversion>,
    /// Rows that no partition takes are left out when they are rewritten.
    pub drops_misplaced: bool,
    /// New indexes cannot be built while other statements use the table.
    pub closed: bool,
    pub rename: Option<TableName>,
    /// The keys that are added; they are in `table`, too.
    pub new_keys: Vec<ForeignKey>,
    /// `foreign_key_checks` is 0: rows need not obey them.
    pub keys_unchecked: bool,
    /// `AUTO_INCREMENT = n`.
    pub auto_increment: Option<u64>,
    /// `AUTO_RANDOM_BASE = n`.
    pub auto_random_base: Option<u64>,
    /// How many rows it has copied, where MySQL reports that.
    pub rows: u64,
    pub warnings: Vec<Warning>,
}

impl Altered {
    /// What has been done for the rows, as the statement reports it.
    pub(crate) fn report(&mut self, made: Backfilled) {
        self.warnings.extend(made.warnings);
        if self.rewrite.is_some_and(|rewrite| rewrite.copies) {
            self.rows = made.rows;
        }
    }
}
