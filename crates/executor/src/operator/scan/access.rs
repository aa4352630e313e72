//! Access paths: where the keys of a scan's rows come from.
//!
//! Not here: locks ([`super::locked`]), decoding ([`super::rows`]).

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::vec::IntoIter;

use functions::{EvalContext, Expr, eval_row};
use kv::{KeyRange, Reader};
use planner::plan;
use schema::layout::{IndexLayout, KeyParts, table_range};
use types::{Error, Result, Value};

use super::group_ends::GroupEnds;
use super::layout::{AccessLayout, ScanLayout};
use super::pages::Visit;
use super::partitions::{self, Pages};
use crate::batch::{BATCH_BYTES, BATCH_ROWS};
use crate::memory::KEY_ENTRY_BYTES;
use crate::ranges;

/// How many rows the first call looks up by key. Later calls look up more if the rows are small.
pub(crate) const LOOKUP_ROWS: usize = 64;

/// An access path. Its rows come in key order.
pub(crate) struct Access {
    pub(super) path: Path,
    /// How many rows to look up in one call.
    lookup_rows: usize,
    /// Keys of rows that the path has led to, and that are not read yet: the rows before them filled a page.
    pending: IntoIter<Vec<u8>>,
}

pub(super) enum Path {
    /// Rows by their keys; or entries of a unique index, if they hold all columns that are read.
    Points(IntoIter<Vec<u8>>),
    /// Rows by entries of a unique index, which are looked up by their keys.
    UniquePoints { lookup: Lookup, keys: IntoIter<Vec<u8>> },
    /// Rows in ranges of their keys; or index entries, if they hold all columns that are read.
    Pages(Pages),
    /// Rows by the entries of an index in ranges of the entries' keys.
    Entries { lookup: Lookup, pages: Pages },
    /// The ends of groups of rows, or of index entries, which hold all columns that are read.
    GroupEnds(Box<GroupEnds>),
    /// Rows of several paths, one path after the other.
    Union(Box<UnionPath>),
}

pub(super) struct UnionPath {
    parts: IntoIter<Path>,
    current: Option<Path>,
    /// The keys of the rows that have been found. The optimizer takes such a path only where it finds few rows.
    seen: HashSet<Vec<u8>>,
    seen_bytes: usize,
}

/// From an index's entries to the keys of their rows.
#[derive(Clone)]
pub(super) struct Lookup {
    layout: Arc<IndexLayout>,
}

/// The keys of rows, where a statement names them.
pub(super) enum NamedKeys {
    Primary(IntoIter<Vec<u8>>),
    /// The key of an entry, until its row has been looked up.
    Unique(Lookup, Option<Vec<u8>>),
}

/// A table's access path, ready to be read.
pub(super) struct Opened {
    pub access: Access,
    /// The index whose entries are read instead of rows.
    pub covering: Option<usize>,
    /// The index that leads to the rows, and the ranges of its entries, by which a row that has changed since
    /// is checked again. `None` if rows are read by their own keys, which never change.
    pub index: Option<(usize, Vec<KeyRange>)>,
}

/// What opening an access path takes from the table's definition. A lookup join opens a path for each row.
pub(super) struct AccessPlan<'p> {
    scan: &'p plan::TableScan,
    access: &'p plan::Access,
    /// Of a union: its paths.
    union: Vec<AccessPlan<'p>>,
    layout: PathLayout<'p>,
}

enum PathLayout<'p> {
    /// That of all executions of the plan.
    Cached(&'p AccessLayout),
    Own(Box<AccessLayout>),
}

impl Deref for PathLayout<'_> {
    type Target = AccessLayout;

    fn deref(&self) -> &AccessLayout {
        match self {
            Self::Cached(layout) => layout,
            Self::Own(layout) => layout,
        }
    }
}

/// Opens a path. `row`: the values that the columns in the scan's keys and ranges stand for; empty if there
/// are none.
pub(super) fn open(
    scan: &plan::TableScan,
    never_covering: bool,
    row: &[Value],
    eval: &EvalContext,
) -> Result<Opened> {
    match &scan.access {
        plan::Access::Full { reverse } => full(scan, *reverse, row, eval),
        _ => AccessPlan::new(scan, never_covering)?.open(row, eval),
    }
}

/// All rows of the table, or of the partitions that the scan reads.
fn full(scan: &plan::TableScan, reverse: bool, row: &[Value], eval: &EvalContext) -> Result<Opened> {
    let ranges = vec![table_range(&scan.table).into()];
    Ok(Opened::rows(Path::Pages(
        match partitions::in_places(scan, &ranges, row, eval)? {
            None => Pages::new(ranges, reverse),
            Some(places) => partitions::pages(scan, places, reverse),
        },
    )))
}

impl<'p> AccessPlan<'p> {
    pub fn new(scan: &'p plan::TableScan, never_covering: bool) -> Result<Self> {
        let cached = &ScanLayout::of(scan)?.access;
        let layout = match never_covering && cached.covering.is_some() {
            false => PathLayout::Cached(cached),
            true => PathLayout::Own(Box::new(AccessLayout::new(scan, &scan.access, true)?)),
        };
        Self::with(scan, &scan.access, layout)
    }

    fn with(scan: &'p plan::TableScan, access: &'p plan::Access, layout: PathLayout<'p>) -> Result<Self> {
        let union = match access {
            plan::Access::Union { parts } => {
                let part = |part| {
                    let layout = AccessLayout::new(scan, part, true)?;
                    Self::with(scan, part, PathLayout::Own(Box::new(layout)))
                };
                parts.iter().map(part).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        Ok(Self {
            scan,
            access,
            union,
            layout,
        })
    }

    /// The index whose entries are read instead of rows.
    pub fn covering(&self) -> Option<usize> {
        self.layout.covering
    }

    pub fn lookup(&self) -> Option<Lookup> {
        let layout = self.layout.lookup.as_ref().map(Arc::clone)?;
        Some(Lookup { layout })
    }

    /// The path for a row, for plain reads.
    pub fn access(&self, row: &[Value], eval: &EvalContext) -> Result<Access> {
        match self.access {
            plan::Access::PrimaryRanges { ranges, reverse }
            | plan::Access::IndexRanges { ranges, reverse, .. }
                if self.scan.partitions.is_none() =>
            {
                let pages = Pages::new(ranges::of_keys(&self.layout.parts, ranges, row, eval)?, *reverse);
                Ok(Access::new(match self.lookup() {
                    None => Path::Pages(pages),
                    Some(lookup) => Path::Entries { lookup, pages },
                }))
            }
            _ => self.open(row, eval).map(|opened| opened.access),
        }
    }

    /// The keys of the points for a row: each once, in order. `None` if the path is one of ranges.
    pub fn points(&self, row: &[Value], eval: &EvalContext) -> Result<Option<Vec<Vec<u8>>>> {
        match self.access {
            plan::Access::PrimaryPoints { keys } | plan::Access::UniquePoints { keys, .. } => {
                self.points_of(keys, row, eval).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn points_of(&self, keys: &[Vec<Expr>], row: &[Value], eval: &EvalContext) -> Result<Vec<Vec<u8>>> {
        match &self.scan.partitions {
            None => points(&self.layout.parts, keys, row, eval),
            Some(_) => partitions::points(self.scan, &self.layout.parts, keys, row, eval),
        }
    }

    /// What reads ranges, and these ranges in key order.
    fn pages_of(
        &self,
        ranges: &[plan::Range],
        reverse: bool,
        row: &[Value],
        eval: &EvalContext,
    ) -> Result<(Pages, Vec<KeyRange>)> {
        let ranges = ranges::of_keys(&self.layout.parts, ranges, row, eval)?;
        match partitions::in_places(self.scan, &ranges, row, eval)? {
            None => Ok((Pages::new(ranges.clone(), reverse), ranges)),
            Some(places) => {
                let mut all: Vec<KeyRange> = places.iter().flatten().cloned().collect();
                all.sort_by(|a, b| a.start.cmp(&b.start));
                Ok((partitions::pages(self.scan, places, reverse), all))
            }
        }
    }

    /// The path for a row.
    pub fn open(&self, row: &[Value], eval: &EvalContext) -> Result<Opened> {
        let lookup = self.lookup();
        match self.access {
            plan::Access::Full { reverse } => full(self.scan, *reverse, row, eval),
            plan::Access::PrimaryPoints { keys } => {
                let row_keys = self.points_of(keys, row, eval)?;
                Ok(Opened::rows(Path::Points(row_keys.into_iter())))
            }
            plan::Access::PrimaryRanges { ranges, reverse } => {
                let (pages, _) = self.pages_of(ranges, *reverse, row, eval)?;
                Ok(Opened::rows(Path::Pages(pages)))
            }
            plan::Access::UniquePoints { index, keys } => {
                let entry_keys = self.points_of(keys, row, eval)?;
                let Some(lookup) = lookup else {
                    return Ok(Opened {
                        covering: self.layout.covering,
                        ..Opened::rows(Path::Points(entry_keys.into_iter()))
                    });
                };
                let key_ranges = entry_keys.iter().map(|key| KeyRange::key(key.clone())).collect();
                Ok(Opened {
                    access: Access::new(Path::UniquePoints {
                        lookup,
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
                ..
            } => {
                let (pages, key_ranges) = self.pages_of(ranges, *reverse, row, eval)?;
                Ok(Opened {
                    access: Access::new(match lookup {
                        None => Path::Pages(pages),
                        Some(lookup) => Path::Entries { lookup, pages },
                    }),
                    covering: self.layout.covering,
                    index: Some((*index, key_ranges)),
                })
            }
            plan::Access::GroupEnds {
                ranges,
                parts,
                first,
                last,
                ..
            } => {
                if lookup.is_some() {
                    return Err(Error::internal("a loose index scan cannot lock rows"));
                }
                let ranges = ranges::of_keys(&self.layout.parts, ranges, row, eval)?;
                let ends = GroupEnds::new(self.layout.parts.clone(), *parts, (*first, *last), ranges);
                Ok(Opened {
                    covering: self.layout.covering,
                    ..Opened::rows(Path::GroupEnds(Box::new(ends)))
                })
            }
            // The scan's filter says whether a row that has changed since still belongs to it.
            plan::Access::Union { .. } => {
                let opened = self.union.iter().map(|part| part.open(row, eval));
                let parts = opened
                    .map(|opened| Ok(opened?.access.path))
                    .collect::<Result<Vec<Path>>>()?;
                Ok(Opened::rows(Path::Union(Box::new(UnionPath {
                    parts: parts.into_iter(),
                    current: None,
                    seen: HashSet::new(),
                    seen_bytes: 0,
                }))))
            }
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

/// Complete keys, each once, in order. Keys with a NULL equal nothing and are left out.
fn points(parts: &KeyParts, keys: &[Vec<Expr>], row: &[Value], eval: &EvalContext) -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let values = key.iter().map(|e| eval_row(e, row, eval));
        let values = values.collect::<Result<Vec<Value>>>()?;
        out.extend(parts.point(&values, eval.time_zone)?);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

impl Access {
    /// The keys, if the path consists of named keys only. The path is empty afterwards.
    pub(super) fn take_keys(&mut self) -> Option<NamedKeys> {
        match std::mem::replace(&mut self.path, Path::Points(Vec::new().into_iter())) {
            Path::Points(keys) => Some(NamedKeys::Primary(keys)),
            Path::UniquePoints { lookup, mut keys } if keys.len() <= 1 => {
                Some(NamedKeys::Unique(lookup, keys.next()))
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
            pending: Vec::new().into_iter(),
        }
    }

    /// What the path holds of the rows that it has led to.
    pub fn held_bytes(&self) -> usize {
        match &self.path {
            Path::Union(union) => union.seen_bytes,
            _ => 0,
        }
    }

    /// Where the first of its ranges starts, if it is not open yet.
    pub fn first_key(&self) -> Option<&[u8]> {
        match &self.path {
            Path::Pages(pages) | Path::Entries { pages, .. } => pages.first_key(),
            _ => None,
        }
    }

    /// Whether its rows are found by the entries of an index, which lie elsewhere.
    pub fn goes_through_entries(&self) -> bool {
        matches!(self.path, Path::Entries { .. })
    }

    /// The keys of the rows of all its entries, in the order of the entries; `None` if there are more than `most`, or if
    /// it does not go through entries. To be called before any of its rows is read.
    pub fn all_row_keys(&mut self, reader: &dyn Reader, most: usize) -> Result<Option<Vec<Vec<u8>>>> {
        if !self.goes_through_entries() {
            return Ok(None);
        }
        let mut all = Vec::new();
        loop {
            let (mut keys, read) = self.path.row_keys(reader, most + 1 - all.len())?;
            all.append(&mut keys);
            if read == 0 {
                return Ok(Some(all));
            }
            if all.len() > most {
                return Ok(None);
            }
        }
    }

    /// The keys of the rows that the next up to `most` keys of the path lead to; none once there are no more. Not for a
    /// path whose rows are read by [`Access::next`], too.
    pub fn next_row_keys(&mut self, reader: &dyn Reader, most: usize) -> Result<Vec<Vec<u8>>> {
        self.path.row_keys(reader, most).map(|(keys, _)| keys)
    }

    /// Visits the rows (or index entries) of the next up to `wanted` keys. Returns the number of keys, some
    /// of which may have no row; 0 once there are no more. `consistent`: all calls of the reader see the same
    /// moment, so that an entry without a row is damage.
    pub fn next(
        &mut self,
        reader: &dyn Reader,
        wanted: usize,
        consistent: bool,
        visit: &mut impl Visit,
    ) -> Result<usize> {
        if let Path::Pages(pages) = &mut self.path {
            return pages.next(reader, wanted, visit);
        }
        if let Path::GroupEnds(ends) = &mut self.path {
            return ends.next(reader, wanted, visit);
        }
        let most = wanted.min(self.lookup_rows);
        let (row_keys, keys) = match self.pending.len() {
            0 => self.path.row_keys(reader, most)?,
            pending => (self.pending.by_ref().take(most).collect(), pending.min(most)),
        };
        let must_exist = consistent && self.path.reads_index();
        let (read, bytes) = get_rows(reader, &row_keys, must_exist, visit)?;
        let keys = match row_keys.len() - read {
            0 => keys,
            _ => {
                let later = row_keys.into_iter().skip(read).chain(self.pending.by_ref());
                self.pending = later.collect::<Vec<_>>().into_iter();
                read
            }
        };
        if bytes < BATCH_BYTES / 8 {
            self.lookup_rows = (self.lookup_rows * 4).min(BATCH_ROWS);
        } else if bytes > BATCH_BYTES {
            self.lookup_rows = (self.lookup_rows / 4).max(1);
        }
        Ok(keys)
    }
}

impl Path {
    /// Whether keys of rows are those that stand in an index.
    fn reads_index(&self) -> bool {
        matches!(self, Self::UniquePoints { .. } | Self::Entries { .. })
    }

    /// The keys of the rows that the next up to `wanted` keys of the path lead to, and the number of the latter.
    fn row_keys(&mut self, reader: &dyn Reader, wanted: usize) -> Result<(Vec<Vec<u8>>, usize)> {
        let mut row_keys = Vec::new();
        let count = match self {
            Self::Pages(pages) => pages.next(reader, wanted, &mut |key, _| {
                row_keys.push(key.to_vec());
                Ok(())
            })?,
            Self::GroupEnds(ends) => ends.next(reader, wanted, &mut |key, _| {
                row_keys.push(key.to_vec());
                Ok(())
            })?,
            Self::Points(keys) => {
                row_keys.extend(keys.take(wanted));
                row_keys.len()
            }
            Self::UniquePoints { lookup, keys } => {
                let keys: Vec<_> = keys.take(wanted).collect();
                row_keys.extend(lookup.find(reader, &keys)?.into_iter().flatten());
                keys.len()
            }
            Self::Entries { lookup, pages } => pages.next(reader, wanted, &mut |key, value| {
                row_keys.push(lookup.row_key(key, value)?);
                Ok(())
            })?,
            Self::Union(union) => return union.row_keys(reader, wanted),
        };
        Ok((row_keys, count))
    }
}

impl UnionPath {
    fn row_keys(&mut self, reader: &dyn Reader, wanted: usize) -> Result<(Vec<Vec<u8>>, usize)> {
        loop {
            let Some(current) = &mut self.current else {
                self.current = self.parts.next();
                match self.current {
                    Some(_) => continue,
                    None => return Ok((Vec::new(), 0)),
                }
            };
            let (mut row_keys, count) = current.row_keys(reader, wanted)?;
            if count == 0 {
                self.current = None;
                continue;
            }
            row_keys.retain(|key| {
                let is_new = self.seen.insert(key.clone());
                self.seen_bytes += if is_new { key.len() + KEY_ENTRY_BYTES } else { 0 };
                is_new
            });
            return Ok((row_keys, count));
        }
    }
}

impl Lookup {
    /// The key of the row that an entry leads to.
    fn row_key(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        self.layout.row_key(key, value)
    }

    /// For each key of a unique index's entry: the key of its row, if there is one.
    pub fn find(&self, reader: &dyn Reader, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        keys.iter()
            .zip(reader.batch_get(keys)?)
            .map(|(key, value)| value.map(|value| self.row_key(key, &value)).transpose())
            .collect()
    }
}

/// Visits rows by their keys, in order, until they fill a page. Returns how many keys it has read, and how many
/// bytes their rows had.
fn get_rows(
    reader: &dyn Reader,
    keys: &[Vec<u8>],
    must_exist: bool,
    visit: &mut impl Visit,
) -> Result<(usize, usize)> {
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
        return result.map(|()| (1, bytes));
    }
    if keys.is_empty() {
        return Ok((0, 0));
    }
    // They may come in any order. `None`: not taken, since others filled the page before.
    let mut rows: Vec<Option<Option<Vec<u8>>>> = vec![None; keys.len()];
    reader.batch_get_with(keys, &mut |index, value| {
        if let Some(row) = rows.get_mut(index)
            && (bytes < BATCH_BYTES || index == 0)
        {
            bytes += value.map_or(0, <[u8]>::len);
            *row = Some(value.map(<[u8]>::to_vec));
        }
    })?;
    let mut read = 0;
    for (key, row) in keys.iter().zip(rows) {
        match row {
            None => break,
            Some(Some(value)) => visit(key, &value)?,
            Some(None) if must_exist => return Err(no_row()),
            Some(None) => {}
        }
        read += 1;
    }
    Ok((read, bytes))
}

/// Visits the value of each key, with the key's position. One key is cheaper to read by itself.
pub(super) fn get_all(reader: &dyn Reader, keys: &[Vec<u8>], visit: &mut kv::VisitBatch) -> kv::Result<()> {
    let [key] = keys else {
        return match keys {
            [] => Ok(()),
            keys => reader.batch_get_with(keys, visit),
        };
    };
    if !reader.get_with(key, &mut |value| visit(0, Some(value)))? {
        visit(0, None);
    }
    Ok(())
}

#[cold]
pub(super) fn no_row() -> Error {
    Error::internal("an index entry has no row; ADMIN CHECK TABLE says more")
}
