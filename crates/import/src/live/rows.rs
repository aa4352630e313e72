//! Writes rows of the binary log to a table of the target.

use std::collections::VecDeque;

use mysql::Value;

use super::definitions::reason;
use crate::Result;
use crate::binlog::rows::{Change, ChangedRow, Image};
use crate::binlog::table_map::TableMap;
use crate::endpoint::{Client, quoted};
use crate::error::Error;
use crate::inventory::Column;
use crate::retry::is_for_now;
use crate::snapshot::Position;

/// How many rows an INSERT has: a few sizes, because each is a statement that is prepared.
const TOGETHER: [usize; 3] = [64, 8, 1];
/// An INSERT of more than one row has at most about this many bytes, and this many parameters.
const MOST_BYTES: usize = 1 << 20;
const MOST_PARAMETERS: usize = 60_000;

/// A table of the target, as rows of the log are written to it.
pub(super) struct TargetTable {
    pub(super) columns: Vec<Column>,
    pub(super) key: Vec<usize>,
    pub(super) is_unsigned: Vec<bool>,
    /// Foreign keys change rows of other tables with a row of this one.
    pub(super) cascades: bool,
}

pub(super) struct RowWriter<'a> {
    pub(super) target: &'a mut Client,
    pub(super) map: &'a TableMap,
    pub(super) table: &'a TargetTable,
    /// Behind which the rows are in the log.
    pub(super) position: &'a Position,
}

impl RowWriter<'_> {
    /// Inserts all rows of an event, which have the same columns.
    pub(super) fn insert(&mut self, rows: Vec<Image>) -> Result<()> {
        let mut rows = VecDeque::from(rows);
        while !rows.is_empty() {
            let count = together(&rows);
            let mut values = Vec::new();
            let (mut columns, mut tuples) = (Vec::new(), Vec::new());
            for row in rows.drain(..count) {
                let (names, places) = assigned(self.table, row, &mut values);
                columns = names;
                tuples.push(format!("({})", places.join(", ")));
            }
            let sql = format!(
                "INSERT INTO {} ({}) VALUES {}",
                self.name(),
                columns.join(", "),
                tuples.join(", ")
            );
            self.run(&sql, values)?;
        }
        Ok(())
    }

    /// Changes or deletes one row, which must be there.
    pub(super) fn change(&mut self, change: Change, row: ChangedRow) -> Result<()> {
        let (before, after) = (row.before.unwrap_or_default(), row.after.unwrap_or_default());
        let mut values = Vec::new();
        let what = match change {
            Change::Update => {
                let (names, places) = assigned(self.table, after, &mut values);
                let pairs = names
                    .iter()
                    .zip(places)
                    .map(|(name, place)| format!("{name} = {place}"));
                let pairs = pairs.collect::<Vec<_>>().join(", ");
                format!("UPDATE {} SET {pairs}", self.name())
            }
            _ => format!("DELETE FROM {}", self.name()),
        };
        let sql = format!(
            "{what} WHERE {} LIMIT 1",
            found_by(self.table, before, &mut values)
        );
        let shown = format!("{values:?}");
        match self.run(&sql, values)? {
            1 => Ok(()),
            _ => Err(self.unequal(&format!(
                "a row that the source changed is not on the target: {shown}"
            ))),
        }
    }

    fn run(&mut self, sql: &str, values: Vec<Value>) -> Result<u64> {
        let statement = self.target.prepare(sql)?;
        self.target.execute(&statement, sql, values).map_err(|error| {
            match error.is_lost() || is_for_now(error.code()) {
                true => error,
                false => self.unequal(&reason(&error)),
            }
        })
    }

    fn name(&self) -> String {
        format!("{}.{}", quoted(&self.map.database), quoted(&self.map.table))
    }

    fn unequal(&self, what: &str) -> Error {
        Error::Log(format!(
            "behind {}: {what}. Somebody else writes to the target's {}.{}, or it was not equal \
             when the copy ended: copy again with --restart",
            self.position, self.map.database, self.map.table
        ))
    }
}

/// How many of the first rows one INSERT takes.
fn together(rows: &VecDeque<Image>) -> usize {
    let fits = |count: usize| {
        let first = rows.iter().take(count).flatten().flatten();
        let bytes: usize = first
            .map(|value| match value {
                Value::Bytes(bytes) => bytes.len(),
                _ => 8,
            })
            .sum();
        let width = rows.front().map_or(0, Vec::len);
        count <= rows.len() && bytes <= MOST_BYTES && width * count <= MOST_PARAMETERS
    };
    TOGETHER.into_iter().find(|count| fits(*count)).unwrap_or(1)
}

/// The columns that an image has and that can be written, and their parameters.
fn assigned(table: &TargetTable, image: Image, values: &mut Vec<Value>) -> (Vec<String>, Vec<String>) {
    let columns = table.columns.iter().zip(image);
    let written = columns.filter_map(|(column, value)| Some((column, value?)));
    written
        .filter(|(column, _)| !column.is_generated)
        .map(|(column, value)| {
            values.push(value);
            (quoted(&column.name), parameter(column))
        })
        .unzip()
}

/// The condition that finds a row: its key or, if there is none, all its columns.
fn found_by(table: &TargetTable, image: Image, values: &mut Vec<Value>) -> String {
    let has = |position: &usize| image.get(*position).is_some_and(Option::is_some);
    let by_key = !table.key.is_empty() && table.key.iter().all(has);
    let mut conditions = Vec::new();
    for (position, (column, value)) in table.columns.iter().zip(image).enumerate() {
        let Some(value) = value else { continue };
        let compares = match by_key {
            true => table.key.contains(&position),
            // JSON and FLOAT are equal to no parameter of another type; what is generated follows.
            false => !matches!(column.data_type.as_str(), "json" | "float") && !column.is_generated,
        };
        if compares {
            let place = match column.data_type.as_str() {
                "enum" | "set" | "bit" => {
                    conditions.push(format!("CAST({} AS UNSIGNED) <=> ?", quoted(&column.name)));
                    values.push(value);
                    continue;
                }
                _ => parameter(column),
            };
            let operator = if by_key { "=" } else { "<=>" };
            conditions.push(format!("{} {operator} {place}", quoted(&column.name)));
            values.push(padded(column, value));
        }
    }
    conditions.join(" AND ")
}

/// The log has texts in the column's character set, and the session's parameters are in utf8mb4.
fn parameter(column: &Column) -> String {
    match column.charset.as_deref() {
        None | Some("utf8mb4" | "utf8mb3" | "utf8" | "ascii" | "binary") => "?".to_owned(),
        Some(_) if matches!(column.data_type.as_str(), "enum" | "set") => "?".to_owned(),
        Some(charset) => format!("CONVERT(CAST(? AS BINARY) USING {charset})"),
    }
}

/// The log leaves out the zero bytes at the end of a BINARY column.
fn padded(column: &Column, value: Value) -> Value {
    let length = column
        .column_type
        .strip_prefix("binary(")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|length| length.parse::<usize>().ok());
    match (value, length) {
        (Value::Bytes(mut bytes), Some(length)) if bytes.len() < length => {
            bytes.resize(length, 0);
            Value::Bytes(bytes)
        }
        (value, _) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_rows_an_insert_takes() {
        let row = |bytes: usize| vec![Some(Value::Int(1)), None, Some(Value::Bytes(vec![0; bytes]))];
        let rows = |count: usize, bytes: usize| VecDeque::from(vec![row(bytes); count]);
        assert_eq!(together(&rows(200, 10)), 64);
        assert_eq!(together(&rows(63, 10)), 8);
        assert_eq!(together(&rows(7, 10)), 1);
        assert_eq!(together(&rows(64, 100_000)), 8);
        assert_eq!(together(&rows(9, 2 << 20)), 1);
        let wide = VecDeque::from(vec![vec![Some(Value::NULL); 4000]; 64]);
        assert_eq!(together(&wide), 8);
    }
}
