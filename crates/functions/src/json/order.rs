//! MySQL's order of JSON values. [`super::key`] has it as bytes.

use std::cmp::Ordering;

use super::value::{Json, key_order};
use crate::datum::{Datum, compare_same};

impl Json {
    /// MySQL's order of JSON values: by type first, null < numbers < strings < objects < arrays < booleans.
    pub fn compare(&self, other: &Self) -> Ordering {
        let by_rank = self.rank().cmp(&other.rank());
        if by_rank.is_ne() {
            return by_rank;
        }
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Array(a), Self::Array(b)) => compare_all(a.iter(), b.iter()).then(a.len().cmp(&b.len())),
            (Self::Object(a), Self::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let keys = a
                    .iter()
                    .zip(b)
                    .map(|(x, y)| key_order(&x.0, &y.0))
                    .find(|o| o.is_ne());
                keys.unwrap_or_else(|| compare_all(a.iter().map(|(_, v)| v), b.iter().map(|(_, v)| v)))
            }),
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => {
                    compare_same(&a, &b, types::Collation::Binary).unwrap_or(Ordering::Equal)
                }
                _ => Ordering::Equal,
            },
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Int(_) | Self::UInt(_) | Self::Double(_) | Self::Decimal(_) => 1,
            Self::String(_) => 2,
            Self::Object(_) => 3,
            Self::Array(_) => 4,
            Self::Bool(_) => 5,
        }
    }

    fn number(&self) -> Option<Datum<'static>> {
        match self {
            Self::Int(v) => Some(Datum::Int(*v)),
            Self::UInt(v) => Some(Datum::UInt(*v)),
            Self::Double(v) => Some(Datum::Double(*v)),
            Self::Decimal(d) => Some(Datum::Decimal(*d)),
            _ => None,
        }
    }
}

fn compare_all<'a>(a: impl Iterator<Item = &'a Json>, b: impl Iterator<Item = &'a Json>) -> Ordering {
    a.zip(b)
        .map(|(x, y)| x.compare(y))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}
