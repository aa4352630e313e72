//! Writing rows.

use types::{SqlType, Value};

use super::{FLAG_LARGE, HEADER_LEN, VERSION, cell};
use crate::{Error, Result};

/// Writes rows; keeps its buffers from one row to the next.
#[derive(Debug, Default)]
pub struct RowEncoder {
    /// Ids and ends of the values that are not NULL.
    values: Vec<(u32, usize)>,
    nulls: Vec<u32>,
    data: Vec<u8>,
}

impl RowEncoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// With room for so many columns, whose values take about so many bytes.
    pub fn with_capacity(columns: usize, bytes: usize) -> Self {
        Self {
            values: Vec::with_capacity(columns),
            nulls: Vec::new(),
            data: Vec::with_capacity(bytes),
        }
    }

    /// Starts a row.
    pub fn clear(&mut self) {
        self.values.clear();
        self.nulls.clear();
        self.data.clear();
    }

    /// Adds a column. Ids must come in ascending order, as the catalog gives them or sorted by the caller.
    ///
    /// # Errors
    /// [`Error::WrongType`]; [`Error::Malformed`] for an id out of order or out of range.
    pub fn push(&mut self, id: i64, value: &Value, ty: &SqlType) -> Result<()> {
        if value.is_null() {
            return self.push_null(id);
        }
        let id = next_id(id, self.values.last().map(|v| v.0))?;
        cell::encode(value, ty, &mut self.data)?;
        self.values.push((id, self.data.len()));
        Ok(())
    }

    /// [`RowEncoder::push`] of NULL.
    pub fn push_null(&mut self, id: i64) -> Result<()> {
        let id = next_id(id, self.nulls.last().copied())?;
        self.nulls.push(id);
        Ok(())
    }

    /// [`RowEncoder::push`] of what another row holds of the same column.
    pub fn push_bytes(&mut self, id: i64, bytes: &[u8]) -> Result<()> {
        let id = next_id(id, self.values.last().map(|v| v.0))?;
        self.data.extend_from_slice(bytes);
        self.values.push((id, self.data.len()));
        Ok(())
    }

    /// Appends the row's bytes.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let too_wide = |_| Error::Malformed { what: "a row's size" };
        let max_id = self
            .values
            .last()
            .map_or(0, |v| v.0)
            .max(self.nulls.last().copied().unwrap_or(0));
        let large = max_id > 255 || self.data.len() > usize::from(u16::MAX);
        let value_count = u16::try_from(self.values.len()).map_err(too_wide)?;
        let null_count = u16::try_from(self.nulls.len()).map_err(too_wide)?;
        u32::try_from(self.data.len()).map_err(too_wide)?;
        let width = if large { 8 } else { 3 };
        out.reserve(HEADER_LEN + self.values.len() * width + self.nulls.len() * 4 + self.data.len());
        out.extend_from_slice(&[VERSION, if large { FLAG_LARGE } else { 0 }]);
        out.extend_from_slice(&value_count.to_le_bytes());
        out.extend_from_slice(&null_count.to_le_bytes());
        let ids = self.values.iter().map(|v| v.0).chain(self.nulls.iter().copied());
        let ends = self.values.iter().map(|v| v.1);
        if large {
            ids.for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
            ends.for_each(|end| out.extend_from_slice(&(end as u32).to_le_bytes()));
        } else {
            ids.for_each(|id| out.push(id as u8));
            ends.for_each(|end| out.extend_from_slice(&(end as u16).to_le_bytes()));
        }
        out.extend_from_slice(&self.data);
        Ok(())
    }
}

/// An id behind the last one of its list.
fn next_id(id: i64, last: Option<u32>) -> Result<u32> {
    let id = u32::try_from(id).ok();
    id.filter(|id| last.is_none_or(|last| last < *id))
        .ok_or(Error::Malformed {
            what: "a column's id",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_small_row() {
        let mut encoder = RowEncoder::new();
        encoder.push(1, &Value::Int(1), &SqlType::BIGINT).unwrap();
        encoder.push(3, &Value::Null, &SqlType::BIGINT).unwrap();
        encoder.push(24, &Value::Int(300), &SqlType::BIGINT).unwrap();
        let mut row = Vec::new();
        encoder.finish(&mut row).unwrap();
        assert_eq!(row, [128, 0, 2, 0, 1, 0, 1, 24, 3, 1, 0, 3, 0, 1, 44, 1]);
        encoder.clear();
        row.clear();
        encoder.finish(&mut row).unwrap();
        assert_eq!(row, [128, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn ids_have_an_order_and_a_range() {
        let mut encoder = RowEncoder::new();
        encoder.push(2, &Value::Int(1), &SqlType::BIGINT).unwrap();
        assert!(encoder.push(2, &Value::Int(1), &SqlType::BIGINT).is_err());
        assert!(encoder.push(-1, &Value::Int(1), &SqlType::BIGINT).is_err());
        assert!(encoder.push(1 << 32, &Value::Int(1), &SqlType::BIGINT).is_err());
        assert!(encoder.push_bytes(2, &[1]).is_err() && encoder.push_bytes(3, &[1]).is_ok());
        assert!(encoder.push_null(1).is_ok() && encoder.push_null(1).is_err());
    }
}
