//! From a row's values to its partition.

use std::collections::HashMap;

use functions::{EvalContext, Expr, Row, TimeZone, eval_assigned};
use types::{Error, Result, SqlType, Value};

use super::key_hash;
use crate::layout::KeyParts;

const ER_NO_PARTITION_FOR_GIVEN_VALUE: u16 = 1526;

/// What partitions a table, bound: columns are offsets in the table.
#[derive(Debug)]
pub struct PartitionFunction {
    pub top: Level,
    pub sub: Option<Level>,
    /// The physical ids of the leaves, subpartition by subpartition.
    pub ids: Vec<i64>,
}

/// One of the two levels.
#[derive(Debug)]
pub struct Level {
    /// Offsets of the columns that it depends on.
    pub columns: Vec<usize>,
    pub kind: LevelKind,
    /// How many partitions.
    pub count: usize,
}

#[derive(Debug)]
pub enum LevelKind {
    /// The end of each partition; `None`: MAXVALUE. NULL is less than all numbers.
    Range {
        expr: Expr,
        ends: Vec<Option<i128>>,
    },
    List {
        expr: Expr,
        values: HashMap<i128, usize>,
        null: Option<usize>,
    },
    /// The end of each partition as a key of the columns.
    RangeColumns {
        parts: KeyParts,
        ends: Vec<Vec<u8>>,
    },
    /// Keys of the columns with their partitions, in order.
    ListColumns {
        parts: KeyParts,
        values: Vec<(Vec<u8>, usize)>,
    },
    Hash {
        expr: Expr,
        linear: bool,
    },
    Key {
        types: Vec<SqlType>,
        linear: bool,
    },
}

/// The end of a partition of RANGE COLUMNS that has MAXVALUE after some values: it is after all keys that begin with
/// these values, and before or at all other keys after them.
pub fn end_at_maxvalue(values: &[u8]) -> Vec<u8> {
    match values {
        // No key begins with this byte (`codec::datum`).
        [] => vec![0xFF],
        values => codec::prefix_next(values),
    }
}

impl PartitionFunction {
    /// The position of the leaf of a row, one value for each column of the table. All other columns than
    /// [`PartitionFunction::columns`] may have any value.
    ///
    /// # Errors
    /// 1526; those of the expression.
    pub fn locate(&self, row: &[Value], eval: &EvalContext) -> Result<usize> {
        let at = self.top.locate(row, eval)?;
        let Some(sub) = &self.sub else {
            return Ok(at);
        };
        Ok(at * sub.count + sub.locate(row, eval)?)
    }

    /// The physical id of a row's leaf.
    ///
    /// # Errors
    /// As [`PartitionFunction::locate`].
    pub fn place(&self, row: &[Value], eval: &EvalContext) -> Result<i64> {
        let leaf = self.locate(row, eval)?;
        self.ids
            .get(leaf)
            .copied()
            .ok_or_else(|| Error::internal("a partition without a place"))
    }

    /// Offsets of the columns that decide where a row lies.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        let levels = std::iter::once(&self.top).chain(&self.sub);
        levels.flat_map(|level| level.columns.iter().copied())
    }
}

impl Level {
    /// The position of the row's partition.
    ///
    /// # Errors
    /// 1526; those of the expression.
    pub fn locate(&self, row: &[Value], eval: &EvalContext) -> Result<usize> {
        match &self.kind {
            LevelKind::Range { expr, ends } => {
                let value = number(expr, row, eval)?;
                range_of(ends, value).ok_or_else(|| no_partition(value))
            }
            LevelKind::List { expr, values, null } => {
                let value = number(expr, row, eval)?;
                let found = match value {
                    Some(value) => values.get(&value).copied(),
                    None => *null,
                };
                found.ok_or_else(|| no_partition(value))
            }
            LevelKind::RangeColumns { parts, ends } => {
                let key = self.key(parts, row)?;
                let at = ends.partition_point(|end| *end <= key);
                (at < ends.len())
                    .then_some(at)
                    .ok_or_else(no_partition_for_columns)
            }
            LevelKind::ListColumns { parts, values } => {
                let key = self.key(parts, row)?;
                let found = values.binary_search_by(|(value, _)| value.cmp(&key));
                found
                    .map(|at| values[at].1)
                    .map_err(|_| no_partition_for_columns())
            }
            LevelKind::Hash { expr, linear } => {
                // As MySQL computes it: NULL is the least number, and an unsigned number a signed one.
                let value = number(expr, row, eval)?.map_or(i64::MIN, |value| value as i64);
                Ok(match linear {
                    true => linear_part(value as u64, self.count),
                    false => (value % self.count as i64).unsigned_abs() as usize,
                })
            }
            LevelKind::Key { types, linear } => {
                let hash = key_hash::hash(&self.columns, types, row, eval.time_zone)?;
                Ok(match linear {
                    true => linear_part(u64::from(hash), self.count),
                    false => hash as usize % self.count,
                })
            }
        }
    }

    fn key(&self, parts: &KeyParts, row: &[Value]) -> Result<Vec<u8>> {
        let values: Vec<Value> = self
            .columns
            .iter()
            .map(|&column| row.get(column).cloned().unwrap_or(Value::Null))
            .collect();
        // TIMESTAMP, whose stored value depends on the zone, is not allowed here.
        parts.key(&values, TimeZone::UTC)
    }
}

/// The value of an integer expression; `None` for NULL.
pub(super) fn number(expr: &Expr, row: &[Value], eval: &EvalContext) -> Result<Option<i128>> {
    Ok(match eval_assigned(expr, Row::Values(row), eval)?.0 {
        Value::Int(value) => Some(i128::from(value)),
        Value::UInt(value) => Some(i128::from(value)),
        Value::Null => None,
        Value::Decimal(value) => value.normalized().to_string().parse().ok(),
        other => return Err(Error::internal(format!("{other:?} of a partition function"))),
    })
}

/// The partition of RANGE that a number belongs to.
pub(super) fn range_of(ends: &[Option<i128>], value: Option<i128>) -> Option<usize> {
    let Some(value) = value else {
        return (!ends.is_empty()).then_some(0);
    };
    let at = ends.partition_point(|end| end.is_some_and(|end| end <= value));
    (at < ends.len()).then_some(at)
}

/// Manual 24.2.4.1: as many low bits as number the partitions, one less if there is no such partition.
fn linear_part(hash: u64, count: usize) -> usize {
    let mask = count.next_power_of_two() as u64 - 1;
    let part = (hash & mask) as usize;
    match part < count {
        true => part,
        false => (hash & (mask >> 1)) as usize,
    }
}

#[cold]
fn no_partition(value: Option<i128>) -> Error {
    let value = value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
    Error::new(
        ER_NO_PARTITION_FOR_GIVEN_VALUE,
        format!("Table has no partition for value {value}"),
    )
}

#[cold]
fn no_partition_for_columns() -> Error {
    Error::new(
        ER_NO_PARTITION_FOR_GIVEN_VALUE,
        "Table has no partition for value from column_list",
    )
}

/// Whether an error says that no partition takes a row.
pub fn is_no_partition(error: &Error) -> bool {
    error.code == ER_NO_PARTITION_FOR_GIVEN_VALUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_hash_takes_the_lower_half_for_what_is_missing() {
        // The manual's example: six partitions; 2003-04-14 -> YEAR 2003 -> 3, 1998 -> 2.
        assert_eq!(linear_part(2003, 6), 3);
        assert_eq!(linear_part(1998, 6), 2);
        assert_eq!(linear_part(7, 1), 0);
    }

    #[test]
    fn ends_are_exclusive_and_null_comes_first() {
        let ends = [Some(10), Some(20), None];
        for (value, at) in [(None, 0), (Some(9), 0), (Some(10), 1), (Some(1 << 70), 2)] {
            assert_eq!(range_of(&ends, value), Some(at));
        }
        assert_eq!(range_of(&ends[..2], Some(20)), None);
    }
}
