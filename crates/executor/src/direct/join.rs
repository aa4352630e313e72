//! Rows of a chain of joins by keys that are sent as they are stored.
//!
//! The tables are read one after the other, a bounded number of rows at a time: for some rows of one table the rows
//! of the next one are read, and for these those of the one after it, before more of the first are read. So rows come
//! in the order of the first table, as from the operators.

use std::collections::VecDeque;
use std::ops::Range;

use functions::EvalContext;
use planner::plan::{self, JoinKind, QueryPlan, Rel, TableScan};
use types::{Error, Result, Value};
use wire::row::RowEncoder;

use super::PacketRows;
use super::columns::{Row, RowColumns};
use super::point::column_positions;
use super::range::{is_plain, read_rows};
use crate::env::Env;
use crate::memory::Held;
use crate::operator::join::lookup_keys;
use crate::operator::scan::stored::StoredLookup;
use crate::operator::scan::{self, Access};

/// Rows of one table that are held at a time, and their bytes but for the last one.
const ROWS_MAX: usize = 1_024;
const BYTES_MAX: usize = 1 << 20;

/// Rows whose ranges are opened at a time, so that the store knows what is read next: at first, and later.
const ROWS_FIRST: usize = 4;
const ROWS_AHEAD_MAX: usize = 32;

/// `SELECT columns FROM a JOIN b ON b.key = a.column JOIN c ...`, without other conditions but those that find rows of `a`,
/// or rows of a table by their primary keys.
pub(crate) struct JoinSelect<'p> {
    first: &'p TableScan,
    joined: Vec<StoredLookup<'p>>,
    /// Of each table, those of its scan.
    columns: Vec<&'p RowColumns>,
    /// The table and the position of each column of the result.
    output: Vec<(usize, usize)>,
    /// Those of each column of the tables side by side.
    places: Vec<(usize, usize)>,
}

/// Rows of one table, one behind the other.
#[derive(Default)]
struct StoredRows {
    bytes: Vec<u8>,
    rows: Vec<StoredRow>,
    held: Held,
}

struct StoredRow {
    key: Range<usize>,
    value: Range<usize>,
    /// The row of the table before that it belongs to.
    left: usize,
}

/// A run: the rows that are held of each table, and where the result goes.
struct Run<'r, 'e, 's> {
    tables: Vec<StoredRows>,
    env: &'r Env<'e, 's>,
    packets: &'r mut dyn PacketRows,
}

impl StoredRows {
    fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ROWS_MAX || self.bytes.len() >= BYTES_MAX
    }

    fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn push(&mut self, key: &[u8], value: &[u8], left: usize) {
        let (key, value) = (self.store(key), self.store(value));
        self.rows.push(StoredRow { key, value, left });
    }
}

impl<'p> JoinSelect<'p> {
    /// `None` if the plan is another kind of query.
    pub fn of(plan: &'p QueryPlan) -> Result<Option<Self>> {
        let (root, exprs) = match &plan.root {
            Rel::Project { input, exprs } => (&**input, Some(exprs)),
            root => (root, None),
        };
        if plan.locking.is_some() || !matches!(root, Rel::LookupJoin(_) | Rel::Join(_)) {
            return Ok(None);
        }
        let Some((first, joined)) = chain(root)? else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(joined.len() + 1);
        let mut places = Vec::new();
        for (table, scan) in std::iter::once(first)
            .chain(joined.iter().map(|one| one.scan))
            .enumerate()
        {
            let Some(of_scan) = scan::stored::columns_of(scan)? else {
                return Ok(None);
            };
            columns.push(of_scan);
            places.extend((0..scan.columns.len()).map(|position| (table, position)));
        }
        let output = match exprs {
            None => Some(places.clone()),
            Some(exprs) => column_positions(exprs).and_then(|positions| {
                let place = |position: usize| places.get(position).copied();
                positions.into_iter().map(place).collect()
            }),
        };
        Ok(output.map(|output| Self {
            first,
            joined,
            columns,
            output,
            places,
        }))
    }

    /// # Errors
    /// As [`crate::query()`].
    pub fn run(&self, env: &Env<'_, '_>, packets: &mut dyn PacketRows) -> Result<()> {
        for scan in std::iter::once(self.first).chain(self.joined.iter().map(|one| one.scan)) {
            scan.table.check_readable_at(env.source.ts())?;
        }
        let mut access = scan::open_rows(self.first, env.eval())?;
        let mut run = Run {
            tables: self.columns.iter().map(|_| StoredRows::default()).collect(),
            env,
            packets,
        };
        loop {
            let first = run.table(0)?;
            first.clear();
            let read = read_rows(self.first, &mut access, env, ROWS_MAX, &mut |key, value| {
                first.push(key, value, 0);
                Ok(())
            })?;
            if read == 0 {
                return Ok(());
            }
            first.held.resize(first.bytes.len(), env.memory)?;
            self.join(1, &mut run)?;
        }
    }

    /// Reads the rows of a table for all rows that are held of the one before, some at a time, and with these goes on.
    fn join(&self, table: usize, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Some(lookup) = self.joined.get(table - 1) else {
            return self.send(run);
        };
        if lookup.keys.is_none() {
            return self.join_constant(table, lookup, run);
        }
        let (env, mut left, mut ahead) = (run.env, 0, ROWS_FIRST);
        let mut open: VecDeque<(usize, Access)> = VecDeque::new();
        let mut wanted: Vec<(Vec<u8>, usize)> = Vec::new();
        run.table(table)?.clear();
        loop {
            if open.is_empty() {
                env.check_interrupted()?;
                let end = run.table(table - 1)?.rows.len().min(left + ahead);
                for row in left..end {
                    let values = self.key_values(lookup, (table - 1, row), run)?;
                    open.push_back((row, lookup.access(&values, env)?));
                }
                left = end;
                ahead = (ahead * 2).min(ROWS_AHEAD_MAX);
                lookup.will_read(open.iter().map(|(_, access)| access), env);
            }
            let Some((row, access)) = open.front_mut() else {
                break;
            };
            let rows = run.table(table)?;
            let read = if lookup.by_keys {
                let keys = lookup.row_keys(access, ROWS_MAX - wanted.len(), env)?;
                let read = keys.len();
                wanted.extend(keys.into_iter().map(|key| (key, *row)));
                read
            } else {
                lookup.rows(access, ROWS_MAX - rows.rows.len(), env, &mut |key, value| {
                    rows.push(key, value, *row);
                    Ok(())
                })?
            };
            let is_full = wanted.len() >= ROWS_MAX || rows.is_full();
            if read == 0 {
                open.pop_front();
            }
            if is_full {
                self.go_on(table, lookup, &mut wanted, run)?;
            }
        }
        self.go_on(table, lookup, &mut wanted, run)
    }

    /// The same where the rows of the table are the same for each row.
    fn join_constant(
        &self,
        table: usize,
        lookup: &StoredLookup<'_>,
        run: &mut Run<'_, '_, '_>,
    ) -> Result<()> {
        let mut access = lookup.access(&[], run.env)?;
        let keys = lookup.row_keys(&mut access, usize::MAX, run.env)?;
        let mut wanted = Vec::new();
        run.table(table)?.clear();
        for row in 0..run.table(table - 1)?.rows.len() {
            for key in &keys {
                wanted.push((key.clone(), row));
                if wanted.len() >= ROWS_MAX {
                    self.go_on(table, lookup, &mut wanted, run)?;
                }
            }
        }
        self.go_on(table, lookup, &mut wanted, run)
    }

    /// Goes on with the rows of a table that are held, or wanted by their keys.
    fn go_on(
        &self,
        table: usize,
        lookup: &StoredLookup<'_>,
        wanted: &mut Vec<(Vec<u8>, usize)>,
        run: &mut Run<'_, '_, '_>,
    ) -> Result<()> {
        let (mut from, mut at_once) = (0, wanted.len());
        loop {
            run.env.check_interrupted()?;
            let some = wanted
                .get(from..wanted.len().min(from + at_once))
                .unwrap_or_default();
            let rows = run.tables.get_mut(table).ok_or_else(no_table)?;
            let mut push = |key: &[u8], value: &[u8], left: usize| rows.push(key, value, left);
            if !some.is_empty() && !lookup.read(some, BYTES_MAX, run.env, &mut push)? {
                at_once = (some.len() / 4).max(1);
                continue;
            }
            from += some.len();
            if !rows.rows.is_empty() {
                rows.held.resize(rows.bytes.len(), run.env.memory)?;
                self.join(table + 1, run)?;
                run.table(table)?.clear();
            }
            if from >= wanted.len() {
                wanted.clear();
                return Ok(());
            }
        }
    }

    /// The values that a row's keys are made of, by the positions of the columns side by side.
    fn key_values(
        &self,
        lookup: &StoredLookup<'_>,
        (table, row): (usize, usize),
        run: &Run<'_, '_, '_>,
    ) -> Result<Vec<Value>> {
        let Some(keys) = lookup.keys else {
            return Ok(Vec::new());
        };
        let mut values = vec![Value::Null; keys.width];
        for (position, _) in &keys.columns {
            let Some(&(wanted, column)) = self.places.get(*position) else {
                return Err(no_table());
            };
            let (mut at, mut row) = (table, row);
            while at > wanted {
                row = run.row(at, row)?.1.left;
                at -= 1;
            }
            let (rows, stored) = run.row(at, row)?;
            let columns = self.columns.get(at).ok_or_else(no_table)?;
            let mut room = Vec::new();
            let opened = rows.open(stored, columns, run.env.eval(), &mut room)?;
            if let Some(value) = values.get_mut(*position) {
                *value = columns.value(&opened, column)?;
            }
        }
        Ok(values)
    }

    /// Appends the rows that are held of the last table, with those of the others that they belong to.
    fn send(&self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { tables, env, packets } = run;
        let Some(last) = tables.last() else {
            return Err(no_table());
        };
        let mut rooms: Vec<Vec<Value>> = vec![Vec::new(); tables.len()];
        let mut next = 0;
        // The columns of the tables before are repeated, so that packets are larger than the rows. The client's buffer is
        // written out between two calls.
        while next < last.rows.len() {
            env.check_interrupted()?;
            packets.append(&mut |encoder, frames| {
                let (first, start) = (next, frames.bytes().len());
                while next < last.rows.len() && (next == first || frames.bytes().len() - start < BYTES_MAX) {
                    // Of each table, the last one first.
                    let mut opened: Vec<Row<'_>> = Vec::with_capacity(tables.len());
                    let mut row = next;
                    let sides = tables.iter().zip(&self.columns).zip(&mut rooms);
                    for ((rows, columns), room) in sides.rev() {
                        let stored = rows.rows.get(row).ok_or_else(no_table)?;
                        row = stored.left;
                        opened.push(rows.open(stored, columns, env.eval(), room)?);
                    }
                    let mut result = Ok(());
                    frames.push_with(|out| result = self.write(&opened, encoder, out));
                    result?;
                    next += 1;
                }
                Ok((next - first) as u64)
            })?;
            if let Some(budget) = env.budget {
                budget.row_is_sent();
            }
        }
        Ok(())
    }

    /// `opened`: a row of each table, of the last one first.
    fn write(&self, opened: &[Row<'_>], encoder: &RowEncoder, out: &mut Vec<u8>) -> Result<()> {
        let mut writer = encoder.row(out);
        for &(table, column) in self.output.iter().take(encoder.column_count()) {
            let row = opened.len().checked_sub(table + 1).and_then(|at| opened.get(at));
            match (row, self.columns.get(table)) {
                (Some(row), Some(columns)) => columns.put(row, column, &mut writer)?,
                _ => return Err(no_table()),
            }
        }
        Ok(())
    }
}

impl StoredRows {
    fn open<'a>(
        &'a self,
        row: &StoredRow,
        columns: &RowColumns,
        eval: &EvalContext,
        room: &'a mut Vec<Value>,
    ) -> Result<Row<'a>> {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        columns.open(bytes(&row.key), Some(bytes(&row.value)), eval.time_zone, room)
    }
}

impl Run<'_, '_, '_> {
    fn table(&mut self, table: usize) -> Result<&mut StoredRows> {
        self.tables.get_mut(table).ok_or_else(no_table)
    }

    fn row(&self, table: usize, row: usize) -> Result<(&StoredRows, &StoredRow)> {
        let rows = self.tables.get(table).ok_or_else(no_table)?;
        Ok((rows, rows.rows.get(row).ok_or_else(no_table)?))
    }
}

/// A scan, and the tables that are joined to it one after the other.
type Chain<'p> = (&'p TableScan, Vec<StoredLookup<'p>>);

/// `None`: there is something else in the plan.
fn chain(rel: &Rel) -> Result<Option<Chain<'_>>> {
    let is_stored = |scan: &TableScan| is_plain(scan) && scan.read.is_none() && !scan.reads_key();
    match rel {
        Rel::Scan(scan) => Ok(is_stored(scan).then(|| (scan, Vec::new()))),
        Rel::LookupJoin(join)
            if join.kind == JoinKind::Inner && join.residual.is_none() && is_stored(&join.right) =>
        {
            let Some((first, mut joined)) = chain(&join.left)? else {
                return Ok(None);
            };
            let lookup = StoredLookup::of(&join.right, Some(lookup_keys(join)?))?;
            Ok(lookup.map(|lookup| {
                joined.push(lookup);
                (first, joined)
            }))
        }
        // The same rows by their keys for all rows.
        Rel::Join(join)
            if join.kind == JoinKind::Inner && join.keys.is_empty() && join.residual.is_none() =>
        {
            let Rel::Scan(scan) = &*join.right else {
                return Ok(None);
            };
            if !is_stored(scan) || !matches!(scan.access, plan::Access::PrimaryPoints { .. }) {
                return Ok(None);
            }
            let Some((first, mut joined)) = chain(&join.left)? else {
                return Ok(None);
            };
            let lookup = StoredLookup::of(scan, None)?;
            Ok(lookup.map(|lookup| {
                joined.push(lookup);
                (first, joined)
            }))
        }
        _ => Ok(None),
    }
}

#[cold]
fn no_table() -> Error {
    Error::internal("a table or row that a join does not have")
}
