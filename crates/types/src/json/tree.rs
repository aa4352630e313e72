//! JSON values as trees.

use std::cmp::Ordering;

use crate::Decimal;
use crate::temporal::{DateTime, Time};

/// A JSON value. Numbers, dates and binary data keep the SQL type that they came from.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(String),
    Date(DateTime),
    DateTime(DateTime),
    Timestamp(DateTime),
    Time(Time),
    /// Bytes of one of MySQL's field types ([`super::field_type`]): binary strings and BIT.
    Opaque(u8, Vec<u8>),
    Array(Vec<Json>),
    /// Sorted by length of the key, then its bytes; keys are unique.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object with these members. If keys are equal, the last one counts.
    pub fn object(members: Vec<(String, Json)>) -> Self {
        let mut members = members;
        // The sort is stable: the last of equal keys stays last.
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut unique: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match unique.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => unique.push(member),
            }
        }
        Self::Object(unique)
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => {
                let found = members.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
                members.get(found).map(|(_, v)| v)
            }
            _ => None,
        }
    }
}

/// The order of keys in an object.
pub fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}
