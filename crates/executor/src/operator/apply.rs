//! Subqueries: for each row of an input, what a subquery gives for it.
//!
//! A subquery that takes nothing of the rows runs once, and its rows are the right side of a join. Otherwise
//! it runs for each row: its operators are made again, with the row's values in the statement's state. What
//! it gave is remembered by these values, within a small limit.

use std::rc::Rc;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use hashbrown::HashMap;
use planner::plan::{Apply, ApplyKind, JoinKind, Rel};
use types::array::ColumnView;
use types::{Error, Result, SqlType};

use super::BoxOperator;
use super::join::nested::AllPartners;
use super::join::page::{Found, Page};
use super::join::pairing::Pairing;
use super::join::pairs::{JoinShape, Pairs};
use super::join::partners::Partners;
use super::join::right_side::{RightSide, RowsTaken, more_than_one_row};
use super::part::PlanPart;
use super::scope::Scope;
use crate::batch::{ALL_ROWS, arrow_error, batch_bytes, batch_of};
use crate::env::Env;

/// How much the results of one subquery may take that are remembered.
const REMEMBERED_BYTES: usize = 1 << 20;
/// A longer result is not remembered.
const RESULT_BYTES: usize = 64 << 10;
/// What a result costs beyond its rows and its key.
const ENTRY_BYTES: usize = 256;

/// The operator of an Apply.
pub(super) fn open<'p>(
    apply: &'p Apply,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let input = scope.build(&apply.input, env)?;
    let types = (apply.input.output_types(), apply.subquery.output_types());
    let (kind, condition, taken) = match &apply.kind {
        ApplyKind::Scalar => (JoinKind::Left, None, RowsTaken::One),
        ApplyKind::Exists => (JoinKind::Mark, None, RowsTaken::First),
        ApplyKind::Any { condition } => (JoinKind::Mark, Some(condition), RowsTaken::All),
        ApplyKind::Lateral {
            left: true,
            condition,
        } => (JoinKind::Left, condition.as_ref(), RowsTaken::All),
        ApplyKind::Lateral { condition, .. } => (JoinKind::Inner, condition.as_ref(), RowsTaken::All),
    };
    let is_repeatable = is_deterministic(&apply.subquery);
    if apply.outer.is_empty() && is_repeatable {
        let rows = RightSide::new(&apply.subquery, &types.1, taken, scope);
        let partners = AllPartners::new(rows);
        return Ok(Box::new(Pairing::InMemory(Pairs::new(
            input,
            partners,
            kind,
            condition,
            JoinShape::new(kind, types),
            env.eval(),
        ))));
    }
    let correlated = Correlated {
        results: is_repeatable.then(|| Results::new(apply, &types.0)).transpose()?,
        apply,
        types: types.0.clone(),
        scope: scope.remembering(),
        taken,
        left: None,
        row: 0,
        run: None,
    };
    Ok(Box::new(Pairing::InMemory(Pairs::new(
        input,
        correlated,
        kind,
        condition,
        JoinShape::new(kind, types),
        env.eval(),
    ))))
}

/// Whether a subquery gives the same whenever it runs for the same values.
fn is_deterministic(subquery: &Rel) -> bool {
    let mut deterministic = true;
    subquery.walk(&mut |rel| {
        rel.expressions(&mut |expr| deterministic &= functions::is_deterministic(expr));
    });
    deterministic
}

/// The rows of a subquery that takes values of each row.
struct Correlated<'p> {
    apply: &'p Apply,
    /// Those of the input's columns.
    types: Vec<SqlType>,
    scope: Scope<'p>,
    taken: RowsTaken,
    /// `None` if the subquery gives something else each time.
    results: Option<Results>,
    left: Option<LeftRows>,
    row: usize,
    /// The subquery as it runs for the row.
    run: Option<Run<'p>>,
}

struct LeftRows {
    rows: RecordBatch,
    /// The values that the subquery takes of each row.
    keys: Option<Rows>,
}

struct Run<'p> {
    part: PlanPart<'p>,
    rows: usize,
    /// What has come, unless it is too much to be remembered.
    batches: Option<Vec<RecordBatch>>,
    bytes: usize,
    /// The subquery has no more rows.
    has_ended: bool,
}

impl Run<'_> {
    /// Whether there is a row besides the one that has come.
    fn has_second_row(&mut self, first: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        let mut rows = first.num_rows();
        while rows == 1 && !self.has_ended {
            match self.part.next(env, 1)? {
                Some(more) => rows += more.num_rows(),
                None => self.has_ended = true,
            }
        }
        Ok(rows > 1)
    }
}

impl<'p> Correlated<'p> {
    /// Starts the subquery for a row.
    fn start(&self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<Run<'p>> {
        for outer in &self.apply.outer {
            let (Some(array), Some(ty)) =
                (left.columns().get(outer.position), self.types.get(outer.position))
            else {
                return Err(Error::internal("a subquery takes a column that is not there"));
            };
            let value = ColumnView::new(array, ty).value(self.row);
            env.eval().state.set_outer(outer.slot, value);
        }
        Ok(Run {
            part: PlanPart::open(&self.apply.subquery, &self.scope, env)?,
            rows: 0,
            batches: self.results.as_ref().map(|_| Vec::new()),
            bytes: 0,
            has_ended: false,
        })
    }

    /// The next rows that the subquery has for the row; `None` if there are no more.
    fn next_rows(
        &mut self,
        left: &LeftRows,
        wanted: usize,
        env: &mut Env<'_, '_>,
    ) -> Result<Option<RecordBatch>> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => self.start(&left.rows, env)?,
        };
        let is_over = self.taken == RowsTaken::First && run.rows > 0;
        let wanted = match self.taken {
            RowsTaken::All => wanted,
            RowsTaken::First => 1,
            RowsTaken::One => 2,
        };
        let mut batch = if is_over || run.has_ended {
            None
        } else {
            run.part.next(env, wanted)?
        };
        if let (RowsTaken::One, Some(first)) = (self.taken, &batch)
            && run.has_second_row(first, env)?
        {
            env.eval().unless_ignored(more_than_one_row())?;
            // NULL, and a warning for each row.
            (batch, run.batches) = (None, None);
        }
        let Some(batch) = batch else {
            run.part.close(env);
            if let (Some(results), Some(batches), Some(keys)) = (&mut self.results, run.batches, &left.keys) {
                results.remember(keys.row(self.row).data(), batches, run.bytes, env)?;
            }
            return Ok(None);
        };
        run.rows += batch.num_rows();
        run.bytes += batch_bytes(&batch);
        match &mut run.batches {
            Some(batches) if run.bytes <= RESULT_BYTES => batches.push(batch.clone()),
            batches => *batches = None,
        }
        self.run = Some(run);
        Ok(Some(batch))
    }
}

impl Partners for Correlated<'_> {
    fn begin(&mut self, left: &RecordBatch, _: &mut Env<'_, '_>) -> Result<bool> {
        self.left = Some(LeftRows {
            keys: self
                .results
                .as_ref()
                .map(|results| results.keys(left))
                .transpose()?,
            rows: left.clone(),
        });
        self.row = 0;
        Ok(true)
    }

    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()> {
        let Some(left) = self.left.take() else {
            return Ok(());
        };
        while self.row < left.rows.num_rows() && !page.is_full() && page.has_room_for_rows() {
            let row = self.row;
            if found.get(row).is_some_and(|found| page.is_settled(*found)) {
                if let Some(run) = self.run.take() {
                    run.part.close(env);
                }
                self.row += 1;
                continue;
            }
            if self.run.is_none()
                && let (Some(results), Some(keys)) = (&self.results, &left.keys)
                && let Some(batches) = results.entries.get(keys.row(row).data())
            {
                batches
                    .iter()
                    .for_each(|batch| page.push_rows(row, batch.clone()));
                self.row += 1;
                continue;
            }
            env.check_interrupted()?;
            let wanted = if page.wanted == ALL_ROWS {
                ALL_ROWS
            } else {
                page.room()
            };
            match self.next_rows(&left, wanted, env) {
                Ok(Some(batch)) => page.push_rows(row, batch),
                Ok(None) => self.row += 1,
                Err(error) => {
                    page.fail(row, error);
                    break;
                }
            }
        }
        page.set_done(self.row);
        self.left = Some(left);
        Ok(())
    }
}

/// What a subquery has given, by the values that it took.
struct Results {
    /// The positions of these values in the input's rows.
    columns: Vec<usize>,
    converter: RowConverter,
    entries: HashMap<Box<[u8]>, Rc<[RecordBatch]>>,
    bytes: usize,
}

impl Results {
    fn new(apply: &Apply, types: &[SqlType]) -> Result<Self> {
        let columns: Vec<usize> = apply.outer.iter().map(|outer| outer.position).collect();
        // The values themselves count: a subquery can tell 'a' from 'A'.
        let field = |column: &usize| Some(SortField::new(types.get(*column)?.arrow_type()));
        Ok(Self {
            converter: RowConverter::new(columns.iter().filter_map(field).collect()).map_err(arrow_error)?,
            columns,
            entries: HashMap::new(),
            bytes: 0,
        })
    }

    fn keys(&self, left: &RecordBatch) -> Result<Rows> {
        let columns: Vec<ArrayRef> = self
            .columns
            .iter()
            .filter_map(|column| left.columns().get(*column).cloned())
            .collect();
        self.converter.convert_columns(&columns).map_err(arrow_error)
    }

    fn remember(
        &mut self,
        key: &[u8],
        rows: Vec<RecordBatch>,
        bytes: usize,
        env: &Env<'_, '_>,
    ) -> Result<()> {
        let bytes = bytes + key.len() + ENTRY_BYTES;
        if self.bytes + bytes > REMEMBERED_BYTES {
            self.entries.clear();
            env.memory.shrink(std::mem::take(&mut self.bytes));
        }
        env.memory.grow(bytes)?;
        self.bytes += bytes;
        let rows: Result<Rc<[RecordBatch]>> = rows.into_iter().map(compact).collect();
        self.entries.insert(key.into(), rows?);
        Ok(())
    }
}

/// The same rows without those that share their buffers.
fn compact(batch: RecordBatch) -> Result<RecordBatch> {
    if batch.get_array_memory_size() <= ENTRY_BYTES + 2 * batch_bytes(&batch) {
        return Ok(batch);
    }
    let all: UInt32Array = (0..batch.num_rows() as u32).collect::<Vec<_>>().into();
    let take = |column: &ArrayRef| compute::take(column, &all, None).map_err(arrow_error);
    let columns = batch.columns().iter().map(take).collect::<Result<Vec<_>>>()?;
    batch_of(&batch.schema(), columns, batch.num_rows())
}
