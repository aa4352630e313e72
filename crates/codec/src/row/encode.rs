//! Writing rows.

use types::{SqlType, Value};

use super::{FLAG_LARGE, HEADER_LEN, VERSION, cell};
use crate::{Error, Result};

/// Writes a row.
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

    /// Reserves memory for this many columns, whose values take about this many bytes.
    pub fn with_capacity(columns: usize, bytes: usize) -> Self {
        Self {
            values: Vec::with_capacity(columns),
            nulls: Vec::new(),
            data: Vec::with_capacity(bytes + HEADER_LEN + columns * 3),
        }
    }

    /// Adds a column. Ids must ascend.
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

    /// [`RowEncoder::push`] of the same column's bytes in another row.
    pub fn push_bytes(&mut self, id: i64, bytes: &[u8]) -> Result<()> {
        let id = next_id(id, self.values.last().map(|v| v.0))?;
        self.data.extend_from_slice(bytes);
        self.values.push((id, self.data.len()));
        Ok(())
    }

    /// The bytes of the last column that is not NULL.
    pub fn last_bytes(&self) -> &[u8] {
        let start = match self.values.as_slice() {
            [.., (_, start), _] => *start,
            _ => 0,
        };
        self.data.get(start..).unwrap_or_default()
    }

    /// The row's bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a row of more than 65,535 columns, or 4 GiB.
    pub fn finish(self) -> Result<Vec<u8>> {
        let too_wide = |_| Error::Malformed { what: "a row's size" };
        let Self {
            values,
            nulls,
            data: mut row,
        } = self;
        let max_id = values
            .last()
            .map_or(0, |v| v.0)
            .max(nulls.last().copied().unwrap_or(0));
        let large = max_id > 255 || row.len() > usize::from(u16::MAX);
        let value_count = u16::try_from(values.len()).map_err(too_wide)?;
        let null_count = u16::try_from(nulls.len()).map_err(too_wide)?;
        u32::try_from(row.len()).map_err(too_wide)?;
        let (id_bytes, end_bytes) = if large { (4, 4) } else { (1, 2) };
        let id_list = (values.len() + nulls.len()) * id_bytes;
        let front = HEADER_LEN + id_list + values.len() * end_bytes;

        // The values move to after the header, the ids and the ends.
        let length = row.len();
        row.resize(front + length, 0);
        row.copy_within(..length, front);
        let (header, lists) = row.split_at_mut(HEADER_LEN);
        header[0] = VERSION;
        header[1] = if large { FLAG_LARGE } else { 0 };
        header[2..4].copy_from_slice(&value_count.to_le_bytes());
        header[4..].copy_from_slice(&null_count.to_le_bytes());
        let (id_list, rest) = lists.split_at_mut(id_list);
        let ids = values.iter().map(|v| v.0).chain(nulls);
        let ends = values.iter().map(|v| v.1);
        if large {
            let places = id_list.chunks_exact_mut(id_bytes).zip(ids);
            places.for_each(|(place, id)| place.copy_from_slice(&id.to_le_bytes()));
            let places = rest.chunks_exact_mut(end_bytes).zip(ends);
            places.for_each(|(place, end)| place.copy_from_slice(&(end as u32).to_le_bytes()));
        } else {
            let places = id_list.iter_mut().zip(ids);
            places.for_each(|(place, id)| *place = id as u8);
            let places = rest.chunks_exact_mut(end_bytes).zip(ends);
            places.for_each(|(place, end)| place.copy_from_slice(&(end as u16).to_le_bytes()));
        }
        Ok(row)
    }
}

/// Checks that an id is greater than the last one of its list.
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
        let row = encoder.finish().unwrap();
        assert_eq!(row, [128, 0, 2, 0, 1, 0, 1, 24, 3, 1, 0, 3, 0, 1, 44, 1]);
        assert_eq!(RowEncoder::new().finish().unwrap(), [128, 0, 0, 0, 0, 0]);
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
        assert_eq!(encoder.last_bytes(), [1]);
    }
}
