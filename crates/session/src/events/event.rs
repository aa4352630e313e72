//! What one statement adds to the counters.

use functions::ReadCounts;
use planner::plan_traits::PlanTraits;

/// A statement, as the counters see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementEvent {
    /// The number of its digest; 0: it is not counted.
    pub digest: u32,
    /// It reads one row by its key. Little else has to be counted.
    pub is_point: bool,
    pub failed: bool,
    pub traits: PlanTraits,
    pub reads: ReadCounts,
    pub rows_sent: u64,
    pub affected: u64,
    pub warnings: u64,
    /// When it has ended: microseconds since 1970.
    pub now_us: i64,
}
