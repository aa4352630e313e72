//! Which plans `analytics` can run.

use super::SetOperator;
use super::{Access, ApplyKind, JoinKind, Rel};

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
            // The subquery runs once, before all else.
            Self::Apply(apply) => {
                apply.outer.is_empty() && matches!(apply.kind, ApplyKind::Scalar | ApplyKind::Exists)
            }
            Self::SetOperation { operator, .. } => *operator == SetOperator::Union,
            Self::OneRow
            | Self::Virtual(_)
            | Self::Repeat { .. }
            | Self::Values { .. }
            | Self::JsonTable(_)
            | Self::LookupJoin(_)
            | Self::Window { .. }
            | Self::With { .. }
            | Self::Recursive { .. }
            | Self::CommonTable { .. } => false,
        };
        itself && self.inputs().into_iter().all(Self::runs_in_parallel)
    }
}
