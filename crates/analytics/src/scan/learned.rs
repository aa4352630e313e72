//! Drops rows that an operator above would drop, before they are decoded. If rows are in the order of the
//! column that decides, long runs of them are not even read.

use schema::layout::IntegerColumn;

use crate::scan_filter::{Condition, Following, ScanFilter};

/// The number of rows after which a scan decides whether the check pays off.
const TRIAL_ROWS: u64 = 16_384;

/// After this many dropped rows in a row, the scan seeks the next key instead: a seek takes about as long as
/// dropping that many rows.
const RUN_ROWS: u32 = 32;

/// Where a scan continues.
pub enum GoOn {
    NextRow,
    /// At the first key from this one on.
    From(Vec<u8>),
    /// No more rows can be wanted.
    Nowhere,
}

/// Checks a row's value against a condition that is learned while the query runs.
pub struct LearnedCheck {
    filter: ScanFilter,
    /// The condition is known, and it pays to check it.
    is_on: bool,
    checked: u64,
    dropped: u64,
    /// How many of the last rows were dropped.
    run: u32,
}

impl LearnedCheck {
    pub fn new(filter: &ScanFilter) -> Self {
        Self {
            filter: filter.clone(),
            is_on: false,
            checked: 0,
            dropped: 0,
            run: 0,
        }
    }

    /// Whether rows are in the order of the column.
    pub fn leads(&self) -> bool {
        self.filter.column.leads()
    }

    /// Checks whether the condition is known by now. A condition that drops less than a tenth of the rows is
    /// not used any more.
    pub fn begin(&mut self) {
        let is_useful = self.checked < TRIAL_ROWS || self.dropped > self.checked / 10;
        self.is_on = is_useful
            && match &self.filter.condition {
                Condition::Keys(keys) => keys.get().is_some(),
                Condition::Bound(bound) => bound.is_known(),
            };
    }

    /// Whether an operator above may want the row.
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
        self.run = if holds { 0 } else { self.run + 1 };
        holds
    }

    /// Where to continue after a dropped row.
    #[inline]
    pub fn behind(&mut self, key: &[u8], row: &[u8]) -> GoOn {
        match self.run {
            RUN_ROWS.. => self.behind_run(key, row),
            _ => GoOn::NextRow,
        }
    }

    #[inline(never)]
    fn behind_run(&mut self, key: &[u8], row: &[u8]) -> GoOn {
        self.run = 0;
        let column = &self.filter.column;
        let Condition::Keys(keys) = &self.filter.condition else {
            return GoOn::NextRow;
        };
        let (true, Some(keys), Some(value)) = (column.leads(), keys.get(), column.value(key, row)) else {
            return GoOn::NextRow;
        };
        match keys.following(value) {
            Following::Key(next) => column.start_of(key, next).map_or(GoOn::NextRow, GoOn::From),
            // The set cannot hold larger values, so it says nothing about them.
            Following::Nothing if column.is_signed_at(key) => GoOn::Nowhere,
            Following::Nothing | Following::Unknown => GoOn::NextRow,
        }
    }
}
