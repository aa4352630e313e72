//! Walks over the operators of a query.

use std::iter::successors;

use functions::Expr;
use types::SqlType;

use super::{Rel, TableScan};

impl Rel {
    /// The operator whose rows this one takes; `None` for those that make rows themselves.
    #[inline]
    pub fn input(&self) -> Option<&Self> {
        match self {
            Self::OneRow | Self::Scan(_) | Self::Virtual(_) => None,
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Repeat { input, .. }
            | Self::Distinct { input } => Some(input),
        }
    }

    /// This operator and all below it, from the top.
    #[inline]
    pub fn operators(&self) -> impl Iterator<Item = &Self> {
        successors(Some(self), |rel| rel.input())
    }

    /// The operator at the bottom, where the rows come from.
    #[inline]
    pub fn source(&self) -> &Self {
        let mut rel = self;
        while let Some(input) = rel.input() {
            rel = input;
        }
        rel
    }

    /// The stored table that the rows come from.
    #[inline]
    pub fn scan(&self) -> Option<&TableScan> {
        match self.source() {
            Self::Scan(scan) => Some(scan),
            _ => None,
        }
    }

    /// The types of the columns of its rows.
    pub fn output_types(&self) -> Vec<SqlType> {
        match self {
            Self::OneRow => Vec::new(),
            Self::Scan(scan) => {
                let columns = scan.columns.iter().filter_map(|&c| scan.table.columns.get(c));
                columns.map(|column| column.ty).collect()
            }
            Self::Virtual(scan) => scan.table.columns.iter().map(|column| column.ty).collect(),
            Self::Project { exprs, .. } => exprs.iter().map(Expr::ty).collect(),
            Self::Aggregate { keys, aggregates, .. } => {
                let results = aggregates.iter().map(|call| call.ty);
                keys.iter().map(Expr::ty).chain(results).collect()
            }
            Self::Repeat { input, .. } => std::iter::once(SqlType::BIGINT)
                .chain(input.output_types())
                .collect(),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input } => input.output_types(),
        }
    }
}
