//! Changed rows: what they were and what they are.

use mysql::Value;

use super::bytes::{Bytes, Malformed, Result};
use super::table_map::TableMap;

/// Flags of an event: the session had `foreign_key_checks = 0`.
const NO_FOREIGN_KEY_CHECKS: u16 = 1 << 1;
/// What foreign keys change comes as rows, too (MySQL 9.6 and later).
const CASCADES_IN_LOG: u16 = 1 << 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Insert,
    Update,
    Delete,
}

/// An event with rows of one table. Which types their values have is in the table map of this id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) table: u64,
    pub(crate) change: Change,
    /// What foreign keys changed in other tables at the same time is not in the log: the storage engine did it.
    pub(crate) leaves_out_cascades: bool,
    /// Which columns are in the first image, and in the second one of an UPDATE.
    first: Vec<bool>,
    second: Vec<bool>,
    data: Vec<u8>,
}

/// A row before or after a change: values by position, `None` for a column that is not in the log.
pub(crate) type Image = Vec<Option<Value>>;

/// A changed row. An INSERT has no image before, a DELETE none after.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChangedRow {
    pub(crate) before: Option<Image>,
    pub(crate) after: Option<Image>,
}

impl Rows {
    pub(super) fn read(data: &mut Bytes<'_>, change: u8, has_extra_data: bool) -> Result<Self> {
        let table = data.uint(6)?;
        let flags = data.uint(2)? as u16;
        if has_extra_data {
            let length = data.uint(2)? as usize;
            data.take(length.saturating_sub(2))?;
        }
        let columns = data.length()?;
        let change = match change {
            0 => Change::Insert,
            1 => Change::Update,
            _ => Change::Delete,
        };
        let first = bits(data, columns)?;
        let second = match change {
            Change::Update => bits(data, columns)?,
            _ => Vec::new(),
        };
        Ok(Self {
            table,
            change,
            leaves_out_cascades: flags & (NO_FOREIGN_KEY_CHECKS | CASCADES_IN_LOG) == 0,
            first,
            second,
            data: data.rest().to_vec(),
        })
    }

    /// Reads the rows. `is_unsigned` says which integers have no sign; the log does not always.
    pub(crate) fn rows(&self, map: &TableMap, is_unsigned: &[bool]) -> Result<Vec<ChangedRow>> {
        let mut data = Bytes::new(&self.data);
        let mut rows = Vec::new();
        if !self.first.contains(&true) && !data.is_empty() {
            return Err(Malformed::new("rows without columns"));
        }
        while !data.is_empty() {
            let first = image(&mut data, &self.first, map, is_unsigned)?;
            rows.push(match self.change {
                Change::Insert => ChangedRow {
                    before: None,
                    after: Some(first),
                },
                Change::Delete => ChangedRow {
                    before: Some(first),
                    after: None,
                },
                Change::Update => ChangedRow {
                    before: Some(first),
                    after: Some(image(&mut data, &self.second, map, is_unsigned)?),
                },
            });
        }
        Ok(rows)
    }
}

fn image(data: &mut Bytes<'_>, present: &[bool], map: &TableMap, is_unsigned: &[bool]) -> Result<Image> {
    if present.len() != map.columns.len() {
        return Err(Malformed::new("rows with other columns than their table"));
    }
    let count = present.iter().filter(|present| **present).count();
    let mut nulls = bits(data, count)?.into_iter();
    let columns = map.columns.iter().zip(present).enumerate();
    columns
        .map(|(position, (column, present))| match present {
            false => Ok(None),
            true if nulls.next() == Some(true) => Ok(Some(Value::NULL)),
            true => {
                let is_unsigned = is_unsigned.get(position).copied().unwrap_or(false);
                column.value(data, is_unsigned).map(Some)
            }
        })
        .collect()
}

fn bits(data: &mut Bytes<'_>, count: usize) -> Result<Vec<bool>> {
    let bytes = data.take(count.div_ceil(8))?;
    let bit = |position: usize| {
        bytes
            .get(position / 8)
            .is_some_and(|byte| byte >> (position % 8) & 1 == 1)
    };
    Ok((0..count).map(bit).collect())
}
