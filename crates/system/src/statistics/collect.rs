//! From a table's rows to its statistics.

use std::hash::{DefaultHasher, Hash, Hasher};

use functions::TimeZone;
use kv::{KeyRange, Snapshot};
use schema::layout::TableLayout;
use schema::model::{SchemaState, Table};
use schema::statistics::requested::{self, RequestedHistogram};
use schema::statistics::{ColumnValues, IndexStatistics, TableStatistics, distinct_of_runs, sort_key};
use types::{Result, Value};

use super::sample::{Effort, Sampled, sample};
use crate::keys::all_indexes;

/// The buckets of a column that no statement has asked a number for.
const BUCKETS: usize = 64;
/// A sample has as many rows as fit into about this much memory, within limits.
const SAMPLE_BYTES: usize = 16 << 20;
const VALUE_BYTES: usize = 48;
const SAMPLE_ROWS_MAX: usize = 30_000;
const SAMPLE_ROWS_MIN: usize = 1_000;
/// The same for a histogram that a statement asks for.
const HISTOGRAM_ROWS_MAX: usize = 200_000;

/// What is made for a histogram that a statement has asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The column's offset.
    pub column: usize,
    pub buckets: u32,
}

/// The number of rows in a sample with this number of columns.
pub fn sample_rows(columns: usize, for_histograms: bool) -> u64 {
    let most = if for_histograms {
        HISTOGRAM_ROWS_MAX
    } else {
        SAMPLE_ROWS_MAX
    };
    (SAMPLE_BYTES / VALUE_BYTES / columns.max(1)).clamp(SAMPLE_ROWS_MIN, most) as u64
}

/// A value's bytes, in the order of the column's collation, and the value.
type KeyedValue = (Vec<u8>, Value);

/// Values of one column.
struct Column {
    offset: usize,
    values: ColumnValues,
    /// The values themselves, cut, if a histogram of them is wanted.
    shown: Option<(Wanted, Vec<KeyedValue>)>,
}

/// Hashes of the entries of one index, cut after each of its parts, each with the run of its row.
struct Index {
    id: i64,
    /// Positions among the decoded columns.
    parts: Vec<usize>,
    hashes: Vec<Vec<(u64, u32)>>,
}

struct Collector<'a> {
    table: &'a Table,
    layout: TableLayout,
    columns: Vec<Column>,
    indexes: Vec<Index>,
}

/// Collects the statistics of all columns and indexes, or, with `only`, of some columns alone. `expected`:
/// about how many rows there are.
///
/// # Errors
/// 1317 when interrupted; those of the store.
pub fn collect(
    reader: &Snapshot,
    table: &Table,
    expected: u64,
    effort: Effort,
    only: Option<&[Wanted]>,
) -> Result<TableStatistics> {
    let mut collector = Collector::new(table, only)?;
    let ranges: Vec<KeyRange> = table.row_ranges().into_iter().map(KeyRange::from).collect();
    let sampled = sample(reader, &ranges, expected, effort, &mut |run, key, value| {
        collector.row(run, key, value)
    })?;
    let rows = if sampled.complete {
        sampled.rows
    } else {
        let row_bytes = (sampled.bytes / sampled.rows.max(1)).max(1);
        let mut bytes = 0;
        for range in &ranges {
            bytes += reader.approximate_bytes(range)?;
        }
        (bytes / row_bytes).max(sampled.rows)
    };
    Ok(collector.finish(sampled, rows))
}

/// Whether the table's statistics are about a column. A virtual column without an index is not computed for them: its
/// expression may be expensive, or fail.
fn is_collected(table: &Table, offset: usize) -> bool {
    let column = &table.columns[offset];
    let has_index = || {
        let mut parts = table.indexes.iter().flat_map(|index| &index.parts);
        parts.any(|part| part.column == offset)
    };
    column.state == SchemaState::Public && (!column.is_virtual() || has_index())
}

impl<'a> Collector<'a> {
    fn new(table: &'a Table, only: Option<&[Wanted]>) -> Result<Self> {
        let offsets: Vec<usize> = match only {
            Some(wanted) => wanted.iter().map(|wanted| wanted.column).collect(),
            None => (0..table.columns.len())
                .filter(|&offset| is_collected(table, offset))
                .collect(),
        };
        let column = |&offset: &usize| Column {
            offset,
            values: ColumnValues::default(),
            shown: only
                .and_then(|wanted| wanted.iter().find(|wanted| wanted.column == offset))
                .map(|wanted| (*wanted, Vec::new())),
        };
        let index = |index: schema::model::Index| {
            let position = |column: usize| offsets.iter().position(|offset| *offset == column);
            let parts: Option<Vec<usize>> = index.parts.iter().map(|part| position(part.column)).collect();
            Some(Index {
                id: index.id,
                hashes: vec![Vec::new(); index.parts.len()],
                parts: parts?,
            })
        };
        Ok(Self {
            layout: TableLayout::new(table, &offsets)?,
            columns: offsets.iter().map(column).collect(),
            indexes: match only {
                Some(_) => Vec::new(),
                None => all_indexes(table)
                    .into_iter()
                    .filter(|index| index.full_text.is_none())
                    .filter_map(index)
                    .collect(),
            },
            table,
        })
    }

    fn row(&mut self, run: u32, key: &[u8], value: &[u8]) -> Result<()> {
        let values = self.layout.decode_row_values(key, value, TimeZone::UTC)?;
        for index in &mut self.indexes {
            let mut hasher = DefaultHasher::new();
            for (part, hashes) in index.parts.iter().zip(&mut index.hashes) {
                let column = &self.columns[*part];
                hash(&values[*part], &self.table.columns[column.offset].ty, &mut hasher);
                hashes.push((hasher.finish(), run));
            }
        }
        for (column, value) in self.columns.iter_mut().zip(values) {
            let Some(key) = sort_key(&value, &self.table.columns[column.offset].ty) else {
                column.values.nulls += u64::from(value.is_null());
                continue;
            };
            if let Some((_, shown)) = &mut column.shown {
                shown.push((key.clone(), requested::cut(value)));
            }
            column.values.keys.push((key, run));
        }
        Ok(())
    }

    fn finish(self, sampled: Sampled, rows: u64) -> TableStatistics {
        let table = self.table;
        let now = cluster::now_us();
        let rate = if rows == 0 {
            1.0
        } else {
            sampled.rows as f64 / rows as f64
        };
        let mut made = TableStatistics {
            rows,
            bytes: sampled.bytes / sampled.rows.max(1) * rows,
            collected_us: now,
            ..TableStatistics::default()
        };
        for column in self.columns {
            let definition = &table.columns[column.offset];
            let mut buckets = BUCKETS;
            if let Some((wanted, shown)) = column.shown {
                buckets = wanted.buckets as usize;
                let values = counted(shown, column.values.nulls);
                made.histograms.push(RequestedHistogram {
                    column: definition.id,
                    buckets: wanted.buckets,
                    json: requested::json(&values, &definition.ty, wanted.buckets, rate, &utc_text(now)),
                });
            }
            made.columns
                .push(column.values.finish(definition.id, definition.ty, rows, buckets));
        }
        made.indexes = self
            .indexes
            .into_iter()
            .map(|index| IndexStatistics {
                id: index.id,
                distinct: index
                    .hashes
                    .into_iter()
                    .map(|hashes| distinct(hashes, rows))
                    .collect(),
            })
            .collect();
        made
    }
}

/// Equal values are hashed alike, NULLs too.
fn hash(value: &Value, ty: &types::SqlType, hasher: &mut DefaultHasher) {
    let mut key = Vec::new();
    if codec::datum::encode(value, ty, &mut key).is_ok() {
        key.hash(hasher);
    }
}

fn distinct(mut hashes: Vec<(u64, u32)>, rows: u64) -> u64 {
    hashes.sort_unstable();
    distinct_of_runs(&hashes, rows)
}

/// Values in order, equal ones together.
fn counted(mut values: Vec<(Vec<u8>, Value)>, nulls: u64) -> requested::Values {
    values.sort_by(|a, b| a.0.cmp(&b.0));
    let counts = values
        .chunk_by(|a, b| a.0 == b.0)
        .map(|run| (run[0].1.clone(), run.len() as u64))
        .collect();
    requested::Values { counts, nulls }
}

/// A moment as MySQL writes it: UTC, with microseconds.
pub fn utc_text(us: i64) -> String {
    TimeZone::UTC.from_unix_us(us).datetime_text(6)
}
