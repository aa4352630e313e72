//! What a backfill does with a page of rows, and what it may fail with.

use kv::{LockOptions, Transaction};
use types::Warning;

/// A row that a page's transaction has locked, with its newest value.
pub(crate) struct LockedRow {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// What is made of the rows of a page.
pub(crate) trait PageWork {
    /// Writes what it makes of some rows. `rows_before`: how many came before them.
    fn page(
        &mut self,
        txn: &mut Transaction,
        options: &LockOptions,
        page: &[LockedRow],
        rows_before: u64,
    ) -> Result<(), PageError>;

    /// The last page is committed.
    fn committed(&mut self) {}
}

/// What a backfill has done.
#[derive(Debug, Default)]
pub(crate) struct Backfilled {
    pub rows: u64,
    pub warnings: Vec<Warning>,
}

impl Backfilled {
    /// The rows that were read for constraints, if there were any: built entries are not reported.
    pub(crate) fn with_checked(self, rows: u64) -> Self {
        match rows {
            0 => self,
            rows => Self { rows, ..self },
        }
    }
}

/// Why a page was not committed.
pub(crate) enum PageError {
    /// A row is locked: the page can be tried again.
    Busy,
    Failed(types::Error),
}

impl From<kv::Error> for PageError {
    fn from(error: kv::Error) -> Self {
        if error.is_retryable() {
            Self::Busy
        } else {
            Self::Failed(error.into())
        }
    }
}

impl From<types::Error> for PageError {
    fn from(error: types::Error) -> Self {
        Self::Failed(error)
    }
}
