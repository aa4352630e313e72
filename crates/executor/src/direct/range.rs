//! Rows of one access path that are sent as they are stored: in key order or sorted by one column.

use functions::Expr;
use planner::plan::{Access, QueryPlan, Rel, SortKey, TableScan};
use types::Result;
use wire::row::RowEncoder;

use super::PacketRows;
use super::columns::RowColumns;
use super::packets::{ColumnOrder, Packets};
use super::point::column_positions;
use crate::batch::BATCH_ROWS;
use crate::env::Env;
use crate::operator::limit::count_of;
use crate::operator::scan::{self, Access as Path, Visit};
use crate::operator::sort;

/// How many sorted rows are appended to the client's buffer before it may be written out.
const ROWS_AT_ONCE: usize = 256;

/// `SELECT [DISTINCT] columns FROM t WHERE key BETWEEN ? AND ? [ORDER BY column] [LIMIT ?]`, by whichever
/// access path.
pub(crate) struct RangeSelect<'p> {
    scan: &'p TableScan,
    /// The columns of the result, and after them the one that rows are sorted by.
    columns: RowColumns,
    sort: Option<Sort<'p>>,
    limit: Limit<'p>,
}

struct Sort<'p> {
    order: ColumnOrder,
    /// The position of the column among those that are read.
    column: usize,
    /// How many rows the plan above takes at most.
    limit: Option<&'p Expr>,
}

#[derive(Clone, Copy, Default)]
struct Limit<'p> {
    offset: Option<&'p Expr>,
    count: Option<&'p Expr>,
}

/// What the operators of a plan amount to: rows of one scan, sorted or not, limited or not.
pub(super) struct RangePlan<'p> {
    scan: &'p TableScan,
    /// Offsets of the output's columns in the table.
    pub columns: Vec<usize>,
    sorted: Option<Sorted<'p>>,
    limit: Option<Limit<'p>>,
}

struct Sorted<'p> {
    /// The column's offset in the table.
    column: usize,
    descending: bool,
    distinct: bool,
    limit: Option<&'p Expr>,
}

impl<'p> RangeSelect<'p> {
    /// `None` if the plan is another kind of query.
    pub fn of(plan: &'p QueryPlan) -> Option<Self> {
        if plan.locking.is_some() {
            return None;
        }
        let mut range = RangePlan::of(&plan.root)?;
        let sort = match range.sorted {
            None => None,
            Some(sorted) => {
                let ty = &range.scan.table.columns.get(sorted.column)?.ty;
                let sort = Sort {
                    order: ColumnOrder::by(ty, sorted.descending, sorted.distinct)?,
                    column: range.columns.len(),
                    limit: sorted.limit,
                };
                range.columns.push(sorted.column);
                Some(sort)
            }
        };
        Some(Self {
            scan: range.scan,
            columns: RowColumns::new(&range.scan.table, &range.columns)?,
            sort,
            limit: range.limit.unwrap_or_default(),
        })
    }

    /// `false`: there is no memory to sort the rows; no row has gone to the client.
    ///
    /// # Errors
    /// As [`crate::query()`].
    pub fn run(&self, env: &mut Env<'_, '_>, rows: &mut dyn PacketRows) -> Result<bool> {
        let part = RangePart {
            skip: count_of(self.limit.offset, env)?.unwrap_or(0),
            left: count_of(self.limit.count, env)?.unwrap_or(u64::MAX),
        };
        self.scan.table.check_readable_at(env.source.ts())?;
        let access = scan::open_rows(self.scan, env.eval())?;
        match &self.sort {
            None => self.run_in_key_order(access, env, part, rows).map(|()| true),
            Some(sort) => self.run_sorted(sort, access, env, part, rows),
        }
    }

    /// Rows go to the client's buffer as they are read.
    fn run_in_key_order(
        &self,
        mut access: Path,
        env: &mut Env<'_, '_>,
        mut part: RangePart,
        rows: &mut dyn PacketRows,
    ) -> Result<()> {
        let (zone, mut room, mut read) = (env.eval().time_zone, Vec::new(), 1);
        while read > 0 && part.left > 0 {
            let wanted = part.skip.saturating_add(part.left).min(BATCH_ROWS as u64);
            let mut taken = 0;
            rows.append(&mut |encoder, frames| {
                read = read_rows(self.scan, &mut access, env, wanted as usize, &mut |key, value| {
                    if !part.takes_next() {
                        return Ok(());
                    }
                    taken += 1;
                    let row = self.columns.open(key, Some(value), zone, &mut room)?;
                    let mut result = Ok(());
                    frames.push_with(|out| result = self.columns.write(&row, encoder, out));
                    result
                })?;
                Ok(taken)
            })?;
            if taken > 0 {
                env.row_is_sent();
            }
        }
        Ok(())
    }

    fn run_sorted(
        &self,
        sort: &Sort<'_>,
        mut access: Path,
        env: &mut Env<'_, '_>,
        part: RangePart,
        rows: &mut dyn PacketRows,
    ) -> Result<bool> {
        let limit = count_of(sort.limit, env)?;
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (mut packets, mut counted, mut stay) = (Packets::default(), 0, limit);
        if sort.order.distinct {
            stay = stay.min(BATCH_ROWS);
        }
        while limit > 0 && self.collect(sort, &mut access, env, rows.encoder(), &mut packets)? {
            if packets.is_worth_cutting(stay) {
                packets.cut(&sort.order, limit);
                if sort.order.distinct {
                    // The cut left one row of each value: expect as many again.
                    stay = limit.min(packets.len().max(BATCH_ROWS));
                }
            }
            let size = packets.size_bytes();
            env.memory.shrink(counted);
            if !env.memory.try_grow(size)? {
                return Ok(false);
            }
            counted = size;
        }
        env.memory.trim();
        let sorted = packets.sorted(&sort.order);
        env.eval().reads.sorted(sorted.len());
        let wanted = part.of(sorted.get(..limit).unwrap_or(&sorted));
        for indexes in wanted.chunks(ROWS_AT_ONCE) {
            rows.append(&mut |_, frames| {
                indexes
                    .iter()
                    .for_each(|index| frames.push(packets.payload(*index)));
                Ok(indexes.len() as u64)
            })?;
        }
        Ok(true)
    }

    /// Reads a batch of rows; `false` if there are no more.
    fn collect(
        &self,
        sort: &Sort<'_>,
        access: &mut Path,
        env: &Env<'_, '_>,
        encoder: &RowEncoder,
        packets: &mut Packets,
    ) -> Result<bool> {
        let (zone, mut room) = (env.eval().time_zone, Vec::new());
        let rows = read_rows(self.scan, access, env, BATCH_ROWS, &mut |key, value| {
            let row = self.columns.open(key, Some(value), zone, &mut room)?;
            packets.push(|out| self.columns.write(&row, encoder, out))?;
            self.columns
                .give(&row, sort.column, packets.sort_value(&sort.order))
        })?;
        Ok(rows > 0)
    }
}

/// Visits up to `wanted` rows. Returns how many keys were read; some of them may have no row.
pub(super) fn read_rows(
    scan: &TableScan,
    access: &mut Path,
    env: &Env<'_, '_>,
    wanted: usize,
    visit: &mut impl Visit,
) -> Result<usize> {
    env.check_interrupted()?;
    let read = access.next(env.source.reader(), wanted, env.source.is_consistent(), visit)?;
    scan::counted::count(env.eval(), scan, read);
    Ok(read)
}

/// The part of the rows that LIMIT leaves.
struct RangePart {
    skip: u64,
    left: u64,
}

impl RangePart {
    fn of<'r>(&self, rows: &'r [usize]) -> &'r [usize] {
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let rows = rows.get(count(self.skip)..).unwrap_or_default();
        rows.get(..count(self.left)).unwrap_or(rows)
    }

    #[inline]
    fn takes_next(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let takes = self.left > 0;
        self.left -= u64::from(takes);
        takes
    }
}

impl<'p> RangePlan<'p> {
    pub fn of(rel: &'p Rel) -> Option<Self> {
        match rel {
            Rel::Scan(scan) => is_plain(scan).then(|| Self {
                scan,
                columns: scan.columns.clone(),
                sorted: None,
                limit: None,
            }),
            Rel::Project { input, exprs } => {
                let range = Self::of(input)?;
                let positions = column_positions(exprs)?.into_iter();
                let columns = positions.map(|at| range.columns.get(at).copied());
                Some(Self {
                    columns: columns.collect::<Option<_>>()?,
                    ..range
                })
            }
            Rel::Sort { input, keys, limit } => match input.as_ref() {
                Rel::Distinct { input } if sort::covers_all_columns(keys, input) => {
                    Self::sorted(input, keys, true, limit.as_ref())
                }
                input => Self::sorted(input, keys, false, limit.as_ref()),
            },
            Rel::Limit { input, offset, count } => {
                let range = Self::of(input)?;
                let (offset, count) = (offset.as_ref(), count.as_ref());
                range.limit.is_none().then_some(Self {
                    limit: Some(Limit { offset, count }),
                    ..range
                })
            }
            _ => None,
        }
    }

    /// The scan, if its rows are neither sorted nor limited.
    pub fn in_key_order(&self) -> Option<&'p TableScan> {
        (self.sorted.is_none() && self.limit.is_none()).then_some(self.scan)
    }

    fn sorted(input: &'p Rel, keys: &[SortKey], distinct: bool, limit: Option<&'p Expr>) -> Option<Self> {
        let range = Self::of(input)?;
        let [key] = keys else {
            return None;
        };
        let Expr::Column { index, .. } = &key.expr else {
            return None;
        };
        let column = *range.columns.get(*index)?;
        (range.sorted.is_none() && range.limit.is_none()).then_some(Self {
            sorted: Some(Sorted {
                column,
                descending: key.descending,
                distinct,
                limit,
            }),
            ..range
        })
    }
}

/// Whether every row that the access path finds is a row of the result.
pub(super) fn is_plain(scan: &TableScan) -> bool {
    let by_rows = match &scan.access {
        Access::Full { .. } | Access::PrimaryPoints { .. } | Access::PrimaryRanges { .. } => true,
        Access::IndexRanges { covering, .. } => !covering,
        Access::UniquePoints { .. } | Access::GroupEnds { .. } | Access::Union { .. } => false,
    };
    by_rows
        && scan.filter.is_none()
        && scan.as_of.is_none()
        && scan.locking.is_none()
        && !scan.table.is_virtual()
}
