//! The contribution of one statement to the counters.

use executor::DmlResult;
use functions::ReadCounts;
use planner::plan::{InsertMode, Plan};
use planner::plan_traits::PlanTraits;

use super::event_name::EventName;

/// Rows that a statement has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// The number that the reply reports.
    pub affected: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// Rows offered to INSERT that were not inserted, since there was one of their key.
    pub refused: u64,
}

impl RowChanges {
    pub fn of(plan: &Plan, result: &DmlResult) -> Self {
        let affected = result.affected;
        let mut changes = Self {
            affected,
            ..Self::default()
        };
        match plan {
            Plan::Query(_) => {}
            Plan::Insert(insert) => {
                // A row that was replaced, or updated by ON DUPLICATE KEY UPDATE, counts as two affected
                // rows.
                let duplicates = result.duplicates.min(affected / 2);
                match insert.mode {
                    InsertMode::Replace => {
                        changes.deleted = affected.saturating_sub(result.records);
                        changes.inserted = affected - changes.deleted;
                    }
                    InsertMode::Update(_) => {
                        changes.updated = duplicates;
                        changes.inserted = affected - 2 * duplicates;
                        changes.refused = result.records.saturating_sub(changes.inserted);
                    }
                    _ => {
                        changes.inserted = affected;
                        changes.refused = result.records.saturating_sub(affected);
                    }
                }
            }
            Plan::Update(_) => changes.updated = affected,
            Plan::FoundWrite(write) if write.is_update => changes.updated = affected,
            Plan::Delete(_) | Plan::FoundWrite(_) => changes.deleted = affected,
        }
        changes
    }
}

/// A statement, as the counters see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatementEvent {
    /// The number of its digest; 0: it is not counted.
    pub digest: u32,
    /// What `performance_schema` calls it.
    pub name: EventName,
    /// How many tables it uses.
    pub tables: u32,
    /// It reads one row by its key, so little else must be counted.
    pub is_point: bool,
    /// It also is outside of a transaction.
    pub is_lone_point: bool,
    pub failed: bool,
    pub traits: PlanTraits,
    pub reads: ReadCounts,
    pub rows_sent: u64,
    pub changes: RowChanges,
    pub warnings: u64,
}
