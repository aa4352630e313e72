//! Rows of a chain of joins by keys that are sent as they are stored.
//!
//! The tables are read one after the other, a bounded number of rows at a time: for some rows of one table the rows
//! of the next one are read, and for these those of the one after it, before more of the first are read. So rows come
//! in the order of the first table, as from the operators.

use std::collections::VecDeque;

use functions::EvalContext;
use planner::plan::{self, JoinKind, QueryPlan, Rel, TableScan};
use types::{Error, Result, Value};
use wire::row::{RowEncoder, RowEnds};

use super::PacketRows;
use super::columns::{Row, RowColumns};
use super::point::column_positions;
use super::range::{is_plain, read_rows};
use crate::env::Env;
use crate::operator::join::lookup_keys;
use crate::operator::scan::stored::{StoredLookup, StoredRow, StoredRows};
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
    /// How rows of the first table are read that are found by keys.
    first_by_keys: Option<StoredLookup<'p>>,
    joined: Vec<StoredLookup<'p>>,
    /// Of each table, those of its scan.
    columns: Vec<&'p RowColumns>,
    /// The table and the position of each column of the result.
    output: Vec<(usize, usize)>,
    /// Those of each column of the tables side by side.
    places: Vec<(usize, usize)>,
}

/// A run: the rows that are held of each table, and where the result goes.
struct Run<'r, 'e, 's> {
    tables: Vec<StoredRows>,
    env: &'r Env<'e, 's>,
    packets: &'r mut dyn PacketRows,
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
        let Some(output) = output else {
            return Ok(None);
        };
        Ok(Some(Self {
            first,
            first_by_keys: StoredLookup::of(first, None)?.filter(|lookup| lookup.by_keys),
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
        let mut run = Run {
            tables: self.columns.iter().map(|_| StoredRows::default()).collect(),
            env,
            packets,
        };
        match &self.first_by_keys {
            Some(lookup) => self.read_by_keys(lookup, &mut run),
            None => self.read_first(&mut run),
        }
    }

    fn read_by_keys(&self, lookup: &StoredLookup<'_>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let mut access = lookup.access(&[], run.env)?;
        loop {
            run.env.check_interrupted()?;
            let keys = lookup.row_keys(&mut access, ROWS_MAX, run.env)?;
            if keys.is_empty() {
                return Ok(());
            }
            let mut wanted: Vec<_> = keys.into_iter().map(|key| (key, 0)).collect();
            self.go_on(0, lookup, &mut wanted, run)?;
        }
    }

    fn read_first(&self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let env = run.env;
        let mut access = scan::open_rows(self.first, env.eval())?;
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
            self.join_held(0, run)?;
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
            let is_full = wanted.len() >= ROWS_MAX || is_full(rows);
            if read == 0 {
                open.pop_front();
            }
            if is_full {
                self.go_on(table, lookup, &mut wanted, run)?;
            }
        }
        self.go_on(table, lookup, &mut wanted, run)
    }

    /// The same where the rows of the table are the same for each row: they are read once if they are few.
    fn join_constant(
        &self,
        table: usize,
        lookup: &StoredLookup<'_>,
        run: &mut Run<'_, '_, '_>,
    ) -> Result<()> {
        let mut access = lookup.access(&[], run.env)?;
        let keys = lookup.row_keys(&mut access, usize::MAX, run.env)?;
        let left = run.table(table - 1)?.rows.len();
        let of_row = |row: usize| keys.iter().map(move |key| (key.clone(), row));
        let rows = run.tables.get_mut(table).ok_or_else(no_table)?;
        rows.clear();
        if keys.len() <= ROWS_MAX
            && lookup.read(&mut of_row(0).collect::<Vec<_>>(), BYTES_MAX, run.env, rows)?
        {
            let found = std::mem::take(&mut rows.rows);
            for row in 0..left {
                for one in &found {
                    let rows = run.table(table)?;
                    rows.rows.push(one.of(row));
                    if rows.rows.len() >= ROWS_MAX {
                        self.join_held(table, run)?;
                        run.table(table)?.rows.clear();
                    }
                }
            }
            return self.join_held(table, run);
        }
        let mut wanted = Vec::new();
        for row in 0..left {
            for one in of_row(row) {
                wanted.push(one);
                if wanted.len() >= ROWS_MAX {
                    self.go_on(table, lookup, &mut wanted, run)?;
                }
            }
        }
        self.go_on(table, lookup, &mut wanted, run)
    }

    /// Goes on with the rows of a table that are held.
    fn join_held(&self, table: usize, run: &mut Run<'_, '_, '_>) -> Result<()> {
        run.env.check_interrupted()?;
        let rows = run.tables.get_mut(table).ok_or_else(no_table)?;
        if rows.rows.is_empty() {
            return Ok(());
        }
        rows.count(run.env.memory)?;
        self.join(table + 1, run)
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
            let until = wanted.len().min(from + at_once);
            let some = wanted.get_mut(from..until).unwrap_or_default();
            let count = some.len();
            let rows = run.tables.get_mut(table).ok_or_else(no_table)?;
            if count > 0 && !lookup.read(some, BYTES_MAX, run.env, rows)? {
                at_once = (count / 4).max(1);
                continue;
            }
            from = until;
            self.join_held(table, run)?;
            run.table(table)?.clear();
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
            let opened = open(rows, stored, columns, run.env.eval(), &mut room)?;
            if let Some(value) = values.get_mut(*position) {
                *value = columns.value(&opened, column)?;
            }
        }
        Ok(values)
    }

    /// Appends the rows that are held of the last table, with those of the others that they belong to.
    fn send(&self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { tables, env, packets } = run;
        let last = tables.last().ok_or_else(no_table)?;
        let mut rooms: Vec<Vec<Value>> = vec![Vec::new(); tables.len()];
        let mut next = 0;
        // The columns of the tables before are repeated, so that packets are larger than the rows. The client's buffer is
        // written out between two calls.
        while next < last.rows.len() {
            env.check_interrupted()?;
            packets.append(&mut |encoder, frames| {
                let (first, start) = (next, frames.bytes().len());
                let mut before = Sent::default();
                while next < last.rows.len() && (next == first || frames.bytes().len() - start < BYTES_MAX) {
                    let same = self.in_common(tables, next, &mut before)?;
                    let mut opened: Vec<Row<'_>> = Vec::with_capacity(tables.len());
                    let sides = tables.iter().zip(&self.columns).zip(&mut rooms);
                    for (((rows, columns), room), row) in sides.zip(&before.rows) {
                        let stored = rows.rows.get(*row).ok_or_else(no_table)?;
                        opened.push(open(rows, stored, columns, env.eval(), room)?);
                    }
                    let (mut result, mut end) = (Ok(()), 0);
                    frames.push_with(|out| {
                        result = self.write(&opened, encoder, (same, &mut before.ends), out);
                        end = out.len();
                    });
                    result?;
                    if frames.bytes().len() != end {
                        // A long packet has been cut into frames.
                        before = Sent::default();
                    }
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

    /// Finds the rows of all tables that a row of the last one belongs to. Returns how many of the result's first columns
    /// are those of the packet before.
    fn in_common(&self, tables: &[StoredRows], last: usize, before: &mut Sent) -> Result<usize> {
        let is_first = before.rows.is_empty();
        before.rows.resize(tables.len(), 0);
        before.is_same.clear();
        before.is_same.resize(tables.len(), false);
        let mut row = last;
        let places = before.rows.iter_mut().zip(&mut before.is_same);
        for (rows, (place, is_same)) in tables.iter().zip(places).rev() {
            *is_same = !is_first && rows.are_same(*place, row);
            *place = row;
            row = rows.rows.get(row).ok_or_else(no_table)?.left;
        }
        let is_same = |table: &usize| before.is_same.get(*table).copied().unwrap_or_default();
        let columns = self.output.iter();
        Ok(columns.take_while(|(table, _)| is_same(table)).count())
    }

    /// `opened`: a row of each table. `same`: how many of the first columns are those of the packet before, and where these
    /// end.
    fn write(
        &self,
        opened: &[Row<'_>],
        encoder: &RowEncoder,
        (same, ends): (usize, &mut RowEnds),
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut writer = encoder.row(out);
        let written = writer.begin_as(same.min(encoder.column_count()), ends);
        let columns = self.output.iter().take(encoder.column_count());
        for &(table, column) in columns.skip(written) {
            match (opened.get(table), self.columns.get(table)) {
                (Some(row), Some(columns)) => columns.put(row, column, &mut writer)?,
                _ => return Err(no_table()),
            }
            writer.note_end(ends);
        }
        Ok(())
    }
}

/// The packet that has been appended last.
#[derive(Default)]
struct Sent {
    /// The row of each table, and whether it is that of the packet before it, too.
    rows: Vec<usize>,
    is_same: Vec<bool>,
    ends: RowEnds,
}

fn open<'a>(
    rows: &'a StoredRows,
    row: &StoredRow,
    columns: &RowColumns,
    eval: &EvalContext,
    room: &'a mut Vec<Value>,
) -> Result<Row<'a>> {
    let (key, value) = rows.key_and_value(row);
    columns.open(key, Some(value), eval.time_zone, room)
}

fn is_full(rows: &StoredRows) -> bool {
    rows.rows.len() >= ROWS_MAX || rows.bytes() >= BYTES_MAX
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
