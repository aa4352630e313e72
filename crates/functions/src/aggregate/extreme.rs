//! MIN, MAX and ANY_VALUE of many groups.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef};
use types::{Result, SqlType, Value};

use crate::datum::Datum;
use crate::ops::comparison::compare;

/// The value kept of each group so far, and which of two stays.
#[derive(Debug)]
pub(super) struct Extremes {
    ty: SqlType,
    /// The order in which a new value has to stand to the kept one; `None` keeps the first.
    wanted: Option<Ordering>,
    values: Vec<Option<Value>>,
    text_bytes: usize,
}

impl Extremes {
    pub fn new(ty: SqlType, wanted: Option<Ordering>) -> Self {
        Self {
            ty,
            wanted,
            values: Vec::new(),
            text_bytes: 0,
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.values.resize_with(groups, || None);
    }

    pub fn size_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Option<Value>>() + self.text_bytes
    }

    pub fn update(&mut self, array: &ArrayRef, rows: impl Iterator<Item = (usize, usize)>) -> Result<()> {
        for (row, group) in rows {
            let datum = Datum::at(array.as_ref(), row)?;
            self.offer(group, datum);
        }
        Ok(())
    }

    pub fn offer(&mut self, group: usize, datum: Datum<'_>) {
        let Some(kept) = self.values.get_mut(group) else {
            return;
        };
        let replace = match (&kept, self.wanted) {
            // ANY_VALUE takes the first row's value, NULL or not.
            (None, None) => true,
            (Some(_), None) => false,
            (_, Some(_)) if datum.is_null() => false,
            (None, Some(_)) => true,
            (Some(value), Some(wanted)) => {
                compare(&datum, &Datum::of(value), &self.ty, &self.ty) == Some(wanted)
            }
        };
        if replace {
            let text = |v: &Value| v.as_bytes().map_or(0, <[u8]>::len);
            let value = datum.to_value();
            self.text_bytes += text(&value);
            self.text_bytes -= kept.as_ref().map_or(0, text);
            *kept = Some(value);
        }
    }

    pub fn get(&self, group: usize) -> Value {
        self.values.get(group).cloned().flatten().unwrap_or(Value::Null)
    }

    /// Whether an array's rows need looking at: one of NULLs only matters to ANY_VALUE.
    pub fn wants(&self, array: &ArrayRef) -> bool {
        self.wanted.is_none() || array.logical_null_count() < array.len()
    }
}
