//! Which plans `analytics` can run.
//!
//! Most operators run there on batches of all rows. Lookup joins and subqueries that take values of each row run in
//! pipelines: `executor`'s operators, on each thread over its part of the rows.

use std::collections::HashSet;

use super::SetOperator;
use super::{Access, Apply, ApplyKind, JoinKind, Rel, TableScan};

impl Rel {
    /// Whether `analytics` has this operator and all below it.
    pub fn runs_in_parallel(&self) -> bool {
        let itself = match self {
            Self::Scan(scan) => scan.as_of.is_none() && matches!(scan.access, Access::Full { .. }),
            Self::Aggregate { aggregates, .. } => aggregates.iter().all(|call| call.function.is_mergeable()),
            Self::Filter { .. }
            | Self::Project { .. }
            | Self::Sort { .. }
            | Self::Limit { .. }
            | Self::Measured { .. }
            | Self::Pushed { .. }
            | Self::Distinct { .. } => true,
            // Marks of joins are true or false there, never NULL.
            Self::Join(join) => join.kind != JoinKind::Mark,
            Self::LookupJoin(join) => is_plain(&join.right) && self.is_deterministic(),
            // The subquery runs once, before all else.
            Self::Apply(apply) if apply.outer.is_empty() => {
                matches!(apply.kind, ApplyKind::Scalar | ApplyKind::Exists)
            }
            Self::Apply(apply) => return runs_for_rows(apply) && apply.input.runs_in_parallel(),
            Self::SetOperation { operator, .. } => *operator == SetOperator::Union,
            Self::OneRow
            | Self::Virtual(_)
            | Self::Repeat { .. }
            | Self::Values { .. }
            | Self::JsonTable(_)
            | Self::Window { .. }
            | Self::With { .. }
            | Self::Recursive { .. }
            | Self::CommonTable { .. } => false,
        };
        itself && self.inputs().into_iter().all(Self::runs_in_parallel)
    }

    /// Whether it runs row by row over its left or only input, so that it can be part of a pipeline.
    pub fn is_pipelined(&self) -> bool {
        match self {
            Self::LookupJoin(_) => true,
            Self::Apply(apply) => !apply.outer.is_empty(),
            Self::Filter { .. } | Self::Project { .. } => self.is_deterministic(),
            Self::Measured { .. } => true,
            _ => false,
        }
    }

    /// Whether its expressions give the same whenever they are computed for the same row.
    fn is_deterministic(&self) -> bool {
        let mut deterministic = true;
        self.expressions(&mut |expr| deterministic &= functions::is_deterministic(expr));
        deterministic
    }
}

/// Whether a subquery can run for each row, on several threads at a time. Each has its own values of outer columns, and
/// no common table.
fn runs_for_rows(apply: &Apply) -> bool {
    let (mut runs, mut tables) = (true, HashSet::new());
    apply.subquery.walk(&mut |rel| {
        runs &= rel.is_deterministic();
        match rel {
            Rel::Scan(scan) => runs &= is_plain(scan),
            Rel::LookupJoin(join) => runs &= is_plain(&join.right),
            Rel::Virtual(_) => runs = false,
            Rel::With { id, .. } => {
                tables.insert(*id);
            }
            Rel::CommonTable { id, .. } => runs &= tables.contains(id),
            _ => {}
        }
    });
    let mut condition = true;
    if let ApplyKind::Any { condition: expr }
    | ApplyKind::Lateral {
        condition: Some(expr),
        ..
    } = &apply.kind
    {
        condition = functions::is_deterministic(expr);
    }
    runs && condition
}

/// Whether a table is read as it is now, without locks.
fn is_plain(scan: &TableScan) -> bool {
    scan.as_of.is_none() && scan.locking.is_none()
}
