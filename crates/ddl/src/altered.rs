//! The definition after an ALTER TABLE, and the necessary work on the rows.

use schema::definition::TableName;
use schema::model::{ForeignKey, Table};
use schema::shadow::Conversion;
use types::{Error, SqlMode, Warning};

use crate::context::DdlContext;
use crate::page_work::Backfilled;
use crate::rewrite::Rewrite;

/// The result of an ALTER TABLE.
#[derive(Debug)]
pub(crate) struct Altered {
    /// The table afterwards, except for a new name. It includes the indexes that must be built, as public
    /// ones.
    pub table: Table,
    /// Ids of the indexes that must be built, and of those that are removed.
    pub new_indexes: Vec<i64>,
    pub dropped_indexes: Vec<i64>,
    /// The names of CHECK constraints that all rows must satisfy.
    pub new_checks: Vec<String>,
    /// The statement adds or enforces one.
    pub adds_checks: bool,
    /// The error if the table has a row.
    pub only_if_empty: Option<Error>,
    /// Set if the rows must be rewritten. Then there are no separate new indexes.
    pub rewrite: Option<Rewrite>,
    /// The ids of stored generated columns whose values change although their definitions stay.
    pub recomputed: Vec<i64>,
    pub conversion: Option<Conversion>,
    /// Rows that belong to no partition are dropped when rows are rewritten.
    pub drops_misplaced: bool,
    /// The mode in which virtual columns of new indexes are computed.
    pub sql_mode: SqlMode,
    pub rename: Option<TableName>,
    /// The foreign keys that are added. They are in `table`, too.
    pub new_keys: Vec<ForeignKey>,
    /// `foreign_key_checks` is 0, so existing rows are not checked for them.
    pub keys_unchecked: bool,
    /// `AUTO_INCREMENT = n`.
    pub auto_increment: Option<u64>,
    /// `AUTO_RANDOM_BASE = n`.
    pub auto_random_base: Option<u64>,
    /// How many rows were copied, if MySQL reports that.
    pub rows: u64,
    pub warnings: Vec<Warning>,
}

impl Altered {
    /// Whether existing rows must satisfy new foreign keys.
    pub(crate) fn checks_new_keys(&self) -> bool {
        !self.new_keys.is_empty() && !self.keys_unchecked
    }

    /// Reports the warnings about the definition, in case that the work on the rows fails.
    pub(crate) fn warn(&self, ctx: &DdlContext) {
        for warning in &self.warnings {
            ctx.warned.push(warning.clone());
        }
    }

    /// Takes over the work on the rows that the statement reports.
    pub(crate) fn report(&mut self, made: Backfilled) {
        self.warnings.extend(made.warnings);
        // MySQL copies the table for new constraints, and reports the number of rows.
        let copies = self.rewrite.is_some_and(|rewrite| rewrite.copies);
        let copies = copies || self.adds_checks || self.checks_new_keys();
        if copies {
            self.rows = made.rows;
        }
    }
}
