//! What `performance_schema` sums up of statements, whether by digest or by the name of their event.

use types::Value;

use super::event::StatementEvent;
use super::picoseconds;

/// One sum. The first three are all that a read of one row by its key adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Sum {
    TimeNs,
    RowsSent,
    RowsExamined,
    RowsAffected,
    Errors,
    Warnings,
    Scans,
    Ranges,
    FullJoins,
    NoIndex,
    SortsOfScans,
    SortsOfRanges,
    SortedRows,
    SortMerges,
    TemporaryTables,
    TemporaryTablesInFiles,
}

impl Sum {
    pub const COUNT: usize = Sum::TemporaryTablesInFiles as usize + 1;
}

impl StatementEvent {
    /// Calls `add` with each sum that a statement of this event adds to, and with the number to add, which may be 0.
    #[inline]
    pub fn for_each_sum(&self, took_ns: u64, mut add: impl FnMut(Sum, u64)) {
        add(Sum::TimeNs, took_ns);
        add(Sum::RowsSent, self.rows_sent);
        add(Sum::RowsExamined, self.reads.examined());
        if self.is_point {
            return;
        }
        let (traits, sorts) = (self.traits, u64::from(self.traits.sorts));
        add(Sum::RowsAffected, self.changes.affected);
        add(Sum::Errors, u64::from(self.failed));
        add(Sum::Warnings, self.warnings);
        add(Sum::Scans, u64::from(traits.counts_scan()));
        add(Sum::Ranges, u64::from(traits.counts_range()));
        add(Sum::FullJoins, u64::from(traits.full_joins));
        add(Sum::NoIndex, u64::from(traits.uses_no_index()));
        match traits.ranges {
            true => add(Sum::SortsOfRanges, sorts),
            false => add(Sum::SortsOfScans, sorts),
        }
        add(Sum::SortedRows, self.reads.sorted);
        add(Sum::SortMerges, self.reads.merges);
        add(Sum::TemporaryTables, u64::from(traits.temporary_tables));
        add(Sum::TemporaryTablesInFiles, self.reads.in_files);
    }
}

/// The columns from `COUNT_STAR` to `COUNT_SECONDARY`, which all summaries of statements have.
pub fn columns(count: u64, least_ns: u64, most_ns: u64, sums: &[u64; Sum::COUNT]) -> [Value; 28] {
    let of = |sum: Sum| sums[sum as usize];
    let time = of(Sum::TimeNs);
    [
        count,
        picoseconds(time),
        if count == 0 { 0 } else { picoseconds(least_ns) },
        picoseconds(time / count.max(1)),
        picoseconds(most_ns),
        // Lock times are not measured separately.
        0,
        of(Sum::Errors),
        of(Sum::Warnings),
        of(Sum::RowsAffected),
        of(Sum::RowsSent),
        of(Sum::RowsExamined),
        of(Sum::TemporaryTablesInFiles),
        of(Sum::TemporaryTables),
        of(Sum::FullJoins),
        // Joins by ranges that are checked for each row.
        0,
        of(Sum::Ranges),
        0,
        of(Sum::Scans),
        of(Sum::SortMerges),
        of(Sum::SortsOfRanges),
        of(Sum::SortedRows),
        of(Sum::SortsOfScans),
        of(Sum::NoIndex),
        0,
        // Processor time and memory are not measured per statement; no statement runs on a second engine.
        0,
        0,
        0,
        0,
    ]
    .map(Value::UInt)
}
