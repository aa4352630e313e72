//! Runs of sorted rows in files, merged into one. Of equal rows, those of the earlier run come first.

use std::cmp::Ordering;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use types::Result;

use super::project::evaluate;
use crate::batch::{BATCH_BYTES, BATCH_ROWS, batch_bytes, gather};
use crate::context::ExecContext;
use crate::env::Env;
use crate::memory::Held;
use crate::row_order::{BatchKeys, RowOrder};
use crate::spill::{RowFile, RowReader, RowWriter};

/// How many runs are merged at a time.
const RUNS: usize = 16;

/// The fraction of the statement's memory that the batches of merged runs may take.
const SHARE: usize = 4;

/// What rows are ordered by.
pub(super) struct Order {
    pub by: RowOrder,
    /// The keys, computed from the columns of the rows.
    pub keys: Vec<Expr>,
    /// Of rows that compare as equal, only the first is wanted.
    pub distinct: bool,
    /// How many rows are wanted at most.
    pub limit: usize,
}

impl Order {
    pub fn keys(&self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<BatchKeys> {
        self.by.keys(&evaluate(self.keys.iter(), batch, env)?)
    }
}

/// Runs, in the order of their rows: each with how often its rows have been merged.
#[derive(Default)]
pub(super) struct Runs(Vec<(u32, RowFile)>);

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a run. As many of one kind as can be merged become one, so that there are never many files.
    pub fn push(&mut self, run: RowFile, order: &Order, env: &Env<'_, '_>) -> Result<()> {
        self.0.push((0, run));
        loop {
            let Some((level, _)) = self.0.last() else {
                return Ok(());
            };
            let level = *level;
            let same = self.0.iter().rev().take_while(|run| run.0 == level).count();
            let first = self.0.len() - same;
            if same < most_runs(&self.0[first..], env.ctx) {
                return Ok(());
            }
            self.merge_from(first, level + 1, order, env)?;
        }
    }

    /// Merges all of them.
    pub fn merged(mut self, order: &Order, env: &Env<'_, '_>) -> Result<Merge> {
        // The last runs are the shortest.
        while self.0.len() > most_runs(&self.0, env.ctx) {
            let first = self.0.len() - most_runs(&self.0, env.ctx);
            self.merge_from(first, u32::MAX, order, env)?;
        }
        Merge::new(self.0.into_iter().map(|(_, run)| run), order, env)
    }

    fn merge_from(&mut self, first: usize, level: u32, order: &Order, env: &Env<'_, '_>) -> Result<()> {
        let runs = self.0.split_off(first).into_iter().map(|(_, run)| run);
        let mut merge = Merge::new(runs, order, env)?;
        let mut writer: Option<RowWriter> = None;
        while let Some(batch) = merge.next(BATCH_ROWS, order, env)? {
            let writer = match &mut writer {
                Some(writer) => writer,
                None => writer.insert(RowWriter::new(&batch, env.ctx)?),
            };
            writer.write(&batch, env.ctx)?;
        }
        env.eval().reads.merged(1);
        if let Some(writer) = writer {
            self.0.push((level, writer.finish()?));
        }
        Ok(())
    }
}

/// How many of these runs can be merged at a time.
fn most_runs(runs: &[(u32, RowFile)], ctx: &ExecContext<'_>) -> usize {
    let largest = runs.iter().map(|(_, run)| run.largest).max().unwrap_or_default();
    (ctx.memory_limit_bytes / SHARE / largest.max(1)).clamp(2, RUNS)
}

/// The rows of several runs in order.
pub(super) struct Merge {
    schema: Option<SchemaRef>,
    /// Those that have not ended, as a binary heap: no run's next row comes before that of the run at half its place.
    runs: Vec<Run>,
    /// Batches that rows are taken from, and their keys.
    batches: Vec<RecordBatch>,
    keys: Vec<BatchKeys>,
    /// The bytes that have been read since rows were given.
    read_bytes: usize,
    /// How many rows the runs have, and what a row has on average.
    rows: usize,
    row_bytes: usize,
    /// The last row that was given, as (batch, row).
    last: Option<(usize, usize)>,
    left: usize,
    held: Held,
}

struct Run {
    file: RowReader,
    /// Its place among the runs, which orders equal rows.
    number: usize,
    /// The next row: which batch, and which of its rows.
    batch: usize,
    row: usize,
}

impl Merge {
    fn new(runs: impl Iterator<Item = RowFile>, order: &Order, env: &Env<'_, '_>) -> Result<Self> {
        let mut merge = Self {
            schema: None,
            runs: Vec::new(),
            batches: Vec::new(),
            keys: Vec::new(),
            read_bytes: 0,
            rows: 0,
            row_bytes: 0,
            last: None,
            left: order.limit,
            held: Held::default(),
        };
        let (mut rows, mut bytes) = (0, 0);
        for (number, run) in runs.enumerate() {
            (rows, bytes) = (rows + run.rows, bytes + run.bytes);
            let mut file = run.read()?;
            if let Some(batch) = merge.read(&mut file, order, env)? {
                merge.runs.push(Run {
                    file,
                    number,
                    batch,
                    row: 0,
                });
            }
        }
        (merge.rows, merge.row_bytes) = (rows, bytes / rows.max(1));
        merge.read_bytes = 0;
        merge.order_runs(order);
        merge.count(env)?;
        Ok(merge)
    }

    /// How many rows there are, at most.
    pub fn rows(&self) -> usize {
        self.rows.min(self.left)
    }

    /// The next rows: at most `wanted`, and a batch at most.
    pub fn next(&mut self, wanted: usize, order: &Order, env: &Env<'_, '_>) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        let most = (BATCH_BYTES / self.row_bytes.max(1)).clamp(1, BATCH_ROWS);
        let most = most.min(wanted).min(self.left);
        let mut places = Vec::with_capacity(most);
        while places.len() < most && (places.is_empty() || self.read_bytes < BATCH_BYTES) {
            let Some(run) = self.runs.first() else { break };
            let place = (run.batch, run.row);
            let again = order.distinct
                && self
                    .last
                    .is_some_and(|last| self.compare(last, place, order).is_eq());
            if !again {
                places.push(place);
                self.last = Some(place);
            }
            self.advance(order, env)?;
        }
        self.left -= places.len();
        let Some(schema) = self.schema.as_ref().filter(|_| !places.is_empty()) else {
            self.held.note(0, env.memory)?;
            return Ok(None);
        };
        let batch = gather(schema, &self.batches, &places)?;
        self.forget(order.distinct);
        self.count(env)?;
        Ok(Some(batch))
    }

    /// Makes a heap of the runs.
    fn order_runs(&mut self, order: &Order) {
        for at in (0..self.runs.len() / 2).rev() {
            self.sink(at, order);
        }
    }

    /// Moves a run down to where no other below it comes before it.
    fn sink(&mut self, mut at: usize, order: &Order) {
        loop {
            let below = [2 * at + 1, 2 * at + 2];
            let below = below.into_iter().filter(|run| *run < self.runs.len());
            let first = below.reduce(|a, b| if self.is_before(b, a, order) { b } else { a });
            match first {
                Some(first) if self.is_before(first, at, order) => {
                    self.runs.swap(first, at);
                    at = first;
                }
                _ => return,
            }
        }
    }

    fn is_before(&self, a: usize, b: usize, order: &Order) -> bool {
        let (a, b) = (&self.runs[a], &self.runs[b]);
        let rows = self.compare((a.batch, a.row), (b.batch, b.row), order);
        rows.then(a.number.cmp(&b.number)).is_lt()
    }

    fn compare(&self, a: (usize, usize), b: (usize, usize), order: &Order) -> Ordering {
        order
            .by
            .compare_rows((&self.keys[a.0], a.1), (&self.keys[b.0], b.1))
    }

    /// Passes over the first row.
    fn advance(&mut self, order: &Order, env: &Env<'_, '_>) -> Result<()> {
        let first = &mut self.runs[0];
        first.row += 1;
        if first.row < self.batches[first.batch].num_rows() {
            self.sink(0, order);
            return Ok(());
        }
        let Run { mut file, number, .. } = self.runs.swap_remove(0);
        if let Some(batch) = self.read(&mut file, order, env)? {
            self.runs.push(Run {
                file,
                number,
                batch,
                row: 0,
            });
        }
        self.order_runs(order);
        Ok(())
    }

    /// Counts the batches that are in memory.
    fn count(&mut self, env: &Env<'_, '_>) -> Result<()> {
        let batches: usize = self.batches.iter().map(batch_bytes).sum();
        let keys: usize = self.keys.iter().map(BatchKeys::size_bytes).sum();
        self.held.note(batches + keys, env.memory)
    }

    /// Reads the next batch of a file. Returns which one it is.
    fn read(&mut self, file: &mut RowReader, order: &Order, env: &Env<'_, '_>) -> Result<Option<usize>> {
        let Some(batch) = file.next()? else {
            return Ok(None);
        };
        self.schema.get_or_insert_with(|| batch.schema());
        self.read_bytes += batch_bytes(&batch);
        self.keys.push(order.keys(&batch, env)?);
        self.batches.push(batch);
        Ok(Some(self.batches.len() - 1))
    }

    /// Forgets batches of which all rows have been given, but for the last row if it is compared with the next one.
    fn forget(&mut self, with_last: bool) {
        self.last = self.last.filter(|_| with_last);
        let mut used = vec![None; self.batches.len()];
        let places = self.runs.iter().map(|run| run.batch);
        for batch in places.chain(self.last.map(|(batch, _)| batch)) {
            used[batch] = Some(0);
        }
        for (count, place) in used.iter_mut().flatten().enumerate() {
            *place = count;
        }
        let mut slots = used.iter();
        self.batches.retain(|_| slots.next().is_some_and(Option::is_some));
        let mut slots = used.iter();
        self.keys.retain(|_| slots.next().is_some_and(Option::is_some));
        let moved = |batch: usize| used[batch].unwrap_or_default();
        for run in &mut self.runs {
            run.batch = moved(run.batch);
        }
        self.last = self.last.map(|(batch, row)| (moved(batch), row));
        self.read_bytes = 0;
    }
}
