//! Access paths: where the keys of a scan's rows come from.
//!
//! Not here: locks ([`super::locked`]), decoding ([`super::rows`]).

use std::vec::IntoIter;

use functions::{EvalContext, Expr, eval_value};
use kv::{KeyRange, Reader};
use planner::plan;
use schema::layout::{IndexLayout, KeyParts, index_covers, table_range};
use schema::model::Table;
use types::{Error, Result, Value};

use super::locked_keys::Keys;
use super::pages::{Pages, Visit};
use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::ranges;

/// Rows looked up by key at first in one call; more once they are known to be small.
pub(crate) const LOOKUP_ROWS: usize = 64;

/// Where rows come from. Answers stay in key order.
pub(crate) struct Access {
    pub(super) path: Path,
    /// How many rows to look up in one call.
    lookup_rows: usize,
}

pub(super) enum Path {
    /// Rows by their keys. Entries of a unique index too, where they hold all that is asked for.
    Points(IntoIter<Vec<u8>>),
    /// Rows by entries of a unique index, which are found by their keys.
    UniquePoints { lookup: Lookup, keys: IntoIter<Vec<u8>> },
    /// Rows, in ranges of their keys. Index entries too, where they hold all that is asked for.
    Pages(Pages),
    /// Rows by the entries of an index, which are found in ranges of their keys.
    Entries { lookup: Lookup, pages: Pages },
}

/// From an index's entries to the keys of their rows.
pub(super) struct Lookup {
    layout: IndexLayout,
    table_id: i64,
}

/// A table's access path, ready to be read.
pub(super) struct Opened {
    pub access: Access,
    /// The index whose entries are read instead of rows.
    pub covering: Option<usize>,
    /// The index that leads to the rows, with the ranges its entries are in: by them a row that has changed since is
    /// told from one that still belongs here. `None` where rows are read by their own keys, which never change.
    pub index: Option<(usize, Vec<KeyRange>)>,
}

pub(super) fn open(scan: &plan::TableScan, never_covering: bool, eval: &EvalContext) -> Result<Opened> {
    let table = &scan.table;
    match &scan.access {
        plan::Access::Full { reverse } => Ok(Opened::rows(Path::Pages(Pages::new(
            vec![table_range(table).into()],
            *reverse,
        )))),
        plan::Access::PrimaryPoints { keys } => {
            let row_keys = points(&KeyParts::primary(table)?, keys, eval)?;
            Ok(Opened::rows(Path::Points(row_keys.into_iter())))
        }
        plan::Access::PrimaryRanges { ranges, reverse } => {
            let key_ranges = ranges::of_keys(&KeyParts::primary(table)?, ranges, eval)?;
            Ok(Opened::rows(Path::Pages(Pages::new(key_ranges, *reverse))))
        }
        plan::Access::UniquePoints { index, keys } => {
            let entry_keys = points(&KeyParts::index(table, *index)?, keys, eval)?;
            if !never_covering && index_covers(table, *index, &scan.columns) {
                return Ok(Opened {
                    covering: Some(*index),
                    ..Opened::rows(Path::Points(entry_keys.into_iter()))
                });
            }
            let key_ranges = entry_keys.iter().map(|key| KeyRange::key(key.clone())).collect();
            Ok(Opened {
                access: Access::new(Path::UniquePoints {
                    lookup: Lookup::new(table, *index)?,
                    keys: entry_keys.into_iter(),
                }),
                covering: None,
                index: Some((*index, key_ranges)),
            })
        }
        plan::Access::IndexRanges {
            index,
            ranges,
            reverse,
            covering,
        } => {
            let key_ranges = ranges::of_keys(&KeyParts::index(table, *index)?, ranges, eval)?;
            let pages = Pages::new(key_ranges.clone(), *reverse);
            let covering = *covering && !never_covering;
            Ok(Opened {
                access: Access::new(if covering {
                    Path::Pages(pages)
                } else {
                    let lookup = Lookup::new(table, *index)?;
                    Path::Entries { lookup, pages }
                }),
                covering: covering.then_some(*index),
                index: Some((*index, key_ranges)),
            })
        }
    }
}

impl Opened {
    fn rows(path: Path) -> Self {
        Self {
            access: Access::new(path),
            covering: None,
            index: None,
        }
    }
}

/// Complete keys, each once, in order; those with a NULL, which equal nothing, left out.
fn points(parts: &KeyParts, keys: &[Vec<Expr>], eval: &EvalContext) -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let values = key.iter().map(|e| eval_value(e, eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        out.extend(parts.point(&values, eval.time_zone)?);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

impl Access {
    /// The keys, where that is all there is to it: nothing has to be searched for, and the path is used up.
    pub(super) fn take_keys(&mut self) -> Option<Keys> {
        match std::mem::replace(&mut self.path, Path::Points(Vec::new().into_iter())) {
            Path::Points(keys) => Some(Keys::Primary(keys)),
            Path::UniquePoints { lookup, mut keys } if keys.len() <= 1 => {
                Some(Keys::Unique(lookup, keys.next()))
            }
            path => {
                self.path = path;
                None
            }
        }
    }

    fn new(path: Path) -> Self {
        Self {
            path,
            lookup_rows: LOOKUP_ROWS,
        }
    }

    /// Visits the rows (or index entries) of the next up to `wanted` keys; answers with the number of keys, of which some
    /// may have no row. 0: there are no more. `consistent`: all calls of the reader see the same moment, so that an entry
    /// without a row is damage.
    pub fn next(
        &mut self,
        reader: &dyn Reader,
        wanted: usize,
        consistent: bool,
        visit: &mut impl Visit,
    ) -> Result<usize> {
        let (row_keys, keys, must_exist) = match &mut self.path {
            Path::Pages(pages) => return pages.next(reader, wanted, visit),
            Path::Points(keys) => {
                let keys: Vec<_> = keys.take(wanted.min(self.lookup_rows)).collect();
                let count = keys.len();
                (keys, count, false)
            }
            Path::UniquePoints { lookup, keys } => {
                let keys: Vec<_> = keys.take(wanted.min(self.lookup_rows)).collect();
                let row_keys = lookup.find(reader, &keys)?;
                (row_keys.into_iter().flatten().collect(), keys.len(), consistent)
            }
            Path::Entries { lookup, pages } => {
                let mut row_keys = Vec::new();
                let entries = pages.next(reader, wanted.min(self.lookup_rows), &mut |key, value| {
                    row_keys.push(lookup.row_key(key, value)?);
                    Ok(())
                })?;
                (row_keys, entries, consistent)
            }
        };
        let bytes = get_rows(reader, &row_keys, must_exist, visit)?;
        if bytes < BATCH_BYTES / 8 {
            self.lookup_rows = (self.lookup_rows * 4).min(BATCH_ROWS);
        } else if bytes > BATCH_BYTES {
            self.lookup_rows = (self.lookup_rows / 4).max(1);
        }
        Ok(keys)
    }
}

impl Lookup {
    fn new(table: &Table, index: usize) -> Result<Self> {
        Ok(Self {
            layout: IndexLayout::new(table, index, &[])?,
            table_id: table.id,
        })
    }

    /// The key of the row that an entry leads to.
    fn row_key(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let handle = self.layout.handle(key, value)?;
        Ok(codec::key::row_key(self.table_id, &handle))
    }

    /// For each key of a unique index's entry: the key of its row, if there is one.
    pub fn find(&self, reader: &dyn Reader, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter()
            .zip(reader.batch_get(keys)?)
            .map(|(key, value)| value.map(|value| self.row_key(key, &value)).transpose())
            .collect()
    }
}

/// Answers with how many bytes the rows had.
fn get_rows(
    reader: &dyn Reader,
    keys: &[Vec<u8>],
    must_exist: bool,
    visit: &mut impl Visit,
) -> Result<usize> {
    let mut bytes = 0;
    if let [key] = keys {
        let mut result = Ok(());
        let found = reader.get_with(key, &mut |value| {
            bytes = value.len();
            result = visit(key, value);
        })?;
        if must_exist && !found {
            return Err(no_row());
        }
        return result.map(|()| bytes);
    }
    if keys.is_empty() {
        return Ok(0);
    }
    for (key, value) in keys.iter().zip(reader.batch_get(keys)?) {
        match value {
            Some(value) => {
                bytes += value.len();
                visit(key, &value)?;
            }
            None if must_exist => return Err(no_row()),
            None => {}
        }
    }
    Ok(bytes)
}

#[cold]
fn no_row() -> Error {
    Error::internal("an index entry has no row; ADMIN CHECK TABLE says more")
}
