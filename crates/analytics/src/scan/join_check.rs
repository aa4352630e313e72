//! Rows that a join would drop are not decoded.

use std::sync::Arc;

use schema::layout::IntegerColumn;

use crate::join_filter::{PendingKeys, ScanFilter};

/// After so many rows it is known whether the check is worth its time.
const TRIAL_ROWS: u64 = 16_384;

/// Whether a row's key is among those of a join's other side.
pub struct JoinCheck {
    column: IntegerColumn,
    keys: Arc<PendingKeys>,
    /// The set of keys is there, and leaves rows out.
    is_on: bool,
    checked: u64,
    dropped: u64,
}

impl JoinCheck {
    pub fn new(filter: &ScanFilter) -> Self {
        Self {
            column: filter.column.clone(),
            keys: Arc::clone(&filter.keys),
            is_on: false,
            checked: 0,
            dropped: 0,
        }
    }

    /// Looks for the keys. A set that leaves out less than a tenth of the rows is not used any longer.
    pub fn begin(&mut self) {
        let is_useful = self.checked < TRIAL_ROWS || self.dropped > self.checked / 10;
        self.is_on = is_useful && self.keys.get().is_some();
    }

    /// Whether the row may have a partner.
    #[inline]
    pub fn may_hold(&mut self, key: &[u8], row: &[u8]) -> bool {
        if !self.is_on {
            return true;
        }
        let Some(keys) = self.keys.get() else { return true };
        let holds = self
            .column
            .value(key, row)
            .is_none_or(|value| keys.may_contain(value));
        self.checked += 1;
        self.dropped += u64::from(!holds);
        holds
    }
}
