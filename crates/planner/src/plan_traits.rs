//! Properties of a plan that the counters of statements record, independent of its rows.

use crate::plan::{Access, Plan, Rel, TableScan};

/// How a plan finds its rows: `Select_scan`, `Sort_scan` and their like (manual 5.1.10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanTraits {
    /// The first table is read whole.
    pub scans: bool,
    /// The first table is read in ranges of an index.
    pub ranges: bool,
    /// A table of a join is read whole, and is not the first.
    pub full_joins: bool,
    /// It is an UPDATE or DELETE of one table, which MySQL does not count in `Select_scan` and its like.
    pub changes_one_table: bool,
    pub sorts: bool,
    pub temporary_tables: bool,
}

impl PlanTraits {
    pub fn of(plan: &Plan) -> Self {
        match plan {
            Plan::Query(query) => Self::of_rows(&query.root),
            Plan::Insert(insert) => insert.queries().next().map_or_else(Self::default, Self::of_rows),
            Plan::Update(update) => Self::of_change(&update.target.scan),
            Plan::Delete(delete) => Self::of_change(&delete.target.scan),
            Plan::FoundWrite(write) => Self::of_rows(&write.root),
        }
    }

    /// `SUM_NO_INDEX_USED`, and what `log_queries_not_using_indexes` logs.
    pub fn uses_no_index(self) -> bool {
        self.scans || self.full_joins
    }

    fn of_change(scan: &TableScan) -> Self {
        Self {
            changes_one_table: true,
            ..Self::of_scans(&[scan])
        }
    }

    /// The first table is read whole by what MySQL counts as a join.
    pub fn counts_scan(self) -> bool {
        self.scans && !self.changes_one_table
    }

    /// The same, in ranges.
    pub fn counts_range(self) -> bool {
        self.ranges && !self.changes_one_table
    }

    fn of_rows(root: &Rel) -> Self {
        let mut traits = Self::of_scans(&root.scans());
        root.walk(&mut |rel| match rel {
            Rel::Virtual(_) => traits.scans = true,
            Rel::Sort { .. } => traits.sorts = true,
            Rel::Aggregate { keys, .. } if !keys.is_empty() => traits.temporary_tables = true,
            Rel::Distinct { .. } | Rel::SetOperation { .. } | Rel::With { .. } | Rel::Recursive { .. } => {
                traits.temporary_tables = true;
            }
            _ => {}
        });
        traits
    }

    fn of_scans(scans: &[&TableScan]) -> Self {
        let is_full = |scan: &TableScan| matches!(scan.access, Access::Full { .. });
        let is_range = |scan: &&TableScan| {
            matches!(
                scan.access,
                Access::PrimaryRanges { .. } | Access::IndexRanges { .. }
            )
        };
        Self {
            scans: scans.first().is_some_and(|scan| is_full(scan)),
            ranges: scans.first().is_some_and(is_range),
            full_joins: scans.iter().skip(1).any(|scan| is_full(scan)),
            ..Self::default()
        }
    }
}
