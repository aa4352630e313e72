//! Rows that an operator above would drop are not decoded.

use schema::layout::IntegerColumn;

use crate::scan_filter::{Condition, ScanFilter};

/// After so many rows it is known whether the check is worth its time.
const TRIAL_ROWS: u64 = 16_384;

/// Whether a row's value satisfies a condition that is learned while the query runs.
pub struct LearnedCheck {
    filter: ScanFilter,
    /// The condition is known, and leaves rows out.
    is_on: bool,
    checked: u64,
    dropped: u64,
}

impl LearnedCheck {
    pub fn new(filter: &ScanFilter) -> Self {
        Self {
            filter: filter.clone(),
            is_on: false,
            checked: 0,
            dropped: 0,
        }
    }

    /// Looks whether the condition is known. One that leaves out less than a tenth of the rows is not used any
    /// longer.
    pub fn begin(&mut self) {
        let is_useful = self.checked < TRIAL_ROWS || self.dropped > self.checked / 10;
        self.is_on = is_useful
            && match &self.filter.condition {
                Condition::Keys(keys) => keys.get().is_some(),
                Condition::Bound(bound) => bound.is_known(),
            };
    }

    /// Whether the row may be wanted.
    #[inline]
    pub fn may_hold(&mut self, key: &[u8], row: &[u8]) -> bool {
        if !self.is_on {
            return true;
        }
        let column: &IntegerColumn = &self.filter.column;
        let holds = column
            .value(key, row)
            .is_none_or(|value| match &self.filter.condition {
                Condition::Keys(keys) => keys.get().is_none_or(|keys| keys.may_contain(value)),
                Condition::Bound(bound) => bound.may_hold(value),
            });
        self.checked += 1;
        self.dropped += u64::from(!holds);
        holds
    }
}
