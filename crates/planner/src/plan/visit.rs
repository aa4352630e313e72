//! Walks over the operators of a query.

use std::iter::successors;

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
}
