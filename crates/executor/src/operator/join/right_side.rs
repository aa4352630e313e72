//! The right side of a join as one batch, which is held in memory and counted; where there is no memory for all of
//! it, one block after the other.
//!
//! Within a subquery that runs for each row, the same join is opened again and again. A right side that takes
//! nothing from outside has the same rows in all runs: they are remembered ([`Scope::remembering`]).

use std::collections::HashSet;
use std::rc::Rc;

use arrow::compute;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use planner::plan::Rel;
use types::{Error, Result, SqlType, errno};

use crate::batch::{ALL_ROWS, arrow_error, batch_bytes, schema_of};
use crate::env::Env;
use crate::memory::Held;
use crate::operator::part::PlanPart;
use crate::operator::scope::Scope;
use crate::spill::{HeldRows, HeldRowsReader, RowWriter};

/// The fraction of the statement's memory that a block may have.
const BLOCK_SHARE: usize = 4;

/// What a row takes at most beside its columns and its key, which is about as long as they are.
const ENTRY_BYTES: usize = 48;

pub(in crate::operator) struct RightSide<'p> {
    rel: &'p Rel,
    types: Vec<SqlType>,
    scope: Scope<'p>,
    taken: RowsTaken,
    /// Set if the rows are in a file.
    blocks: Option<Blocks>,
}

/// How many rows of a subquery matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::operator) enum RowsTaken {
    All,
    First,
    /// A second one is an error.
    One,
}

impl<'p> RightSide<'p> {
    pub fn new(rel: &'p Rel, types: &[SqlType], taken: RowsTaken, scope: &Scope<'p>) -> Self {
        Self {
            rel,
            types: types.to_vec(),
            scope: scope.clone(),
            taken,
            blocks: None,
        }
    }

    /// All rows, or a block of them if there is no memory for all ([`Self::is_in_blocks`]).
    pub fn rows(&mut self, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        if let Some(rows) = self.scope.remembered(self.rel) {
            return Ok(rows);
        }
        let mut part = PlanPart::open(self.rel, &self.scope, env)?;
        let rows = Rc::new(self.read(&mut part, env)?);
        part.close(env);
        if rows.is_in_file() {
            self.blocks = Some(Blocks::new(rows)?);
            return self.block(env);
        }
        let mut reader = rows.read()?;
        let mut batches = Vec::new();
        while let Some(batch) = reader.next()? {
            batches.push(batch);
        }
        let all = self.as_one(&batches)?;
        env.memory.shrink(rows.held_bytes());
        env.memory.grow(batch_bytes(&all))?;
        if self.scope.remembers() && is_self_contained(self.rel) {
            self.scope.remember(self.rel, &all);
        }
        Ok(all)
    }

    /// Reads all rows, and counts them.
    fn read(&self, part: &mut PlanPart<'p>, env: &mut Env<'_, '_>) -> Result<HeldRows> {
        let wanted = match self.taken {
            RowsTaken::All => ALL_ROWS,
            RowsTaken::First => 1,
            RowsTaken::One => 2,
        };
        let (mut held, mut rows) = (HeldRows::builder(), 0);
        while let Some(batch) = part.next(env, wanted)? {
            rows += batch.num_rows();
            if self.taken == RowsTaken::One && rows > 1 {
                env.eval().unless_ignored(more_than_one_row())?;
                return Ok(HeldRows::default());
            }
            held.add(batch, env.memory, env.ctx)?;
            if self.taken == RowsTaken::First {
                break;
            }
        }
        held.finish()
    }

    /// The first block of rows for whose keys there is no memory.
    pub fn first_of_blocks(&mut self, rows: RecordBatch, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let mut writer = RowWriter::new(&rows, env.ctx)?;
        writer.write(&rows, env.ctx)?;
        self.scope.forget(self.rel);
        env.memory.shrink(batch_bytes(&rows));
        drop(rows);
        self.blocks = Some(Blocks::new(HeldRows::of_file(writer.finish()?))?);
        self.block(env)
    }

    pub fn is_in_blocks(&self) -> bool {
        self.blocks.is_some()
    }

    pub fn is_last_block(&self) -> bool {
        self.blocks.as_ref().is_none_or(|blocks| blocks.rest.is_none())
    }

    /// The next block; `None` after the last one. The one before must have been dropped.
    pub fn next_block(&mut self, env: &Env<'_, '_>) -> Result<Option<RecordBatch>> {
        match self.is_last_block() {
            true => Ok(None),
            false => self.block(env).map(Some),
        }
    }

    /// The first block once more. The one before must have been dropped.
    pub fn first_block_again(&mut self, env: &Env<'_, '_>) -> Result<RecordBatch> {
        if let Some(blocks) = &mut self.blocks {
            blocks.rest = None;
            blocks.rows = blocks.all.read()?;
        }
        self.block(env)
    }

    fn block(&mut self, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let batches = match &mut self.blocks {
            Some(blocks) => blocks.next(env)?,
            None => Vec::new(),
        };
        self.as_one(&batches)
    }

    fn as_one(&self, batches: &[RecordBatch]) -> Result<RecordBatch> {
        match batches {
            [] => Ok(RecordBatch::new_empty(schema_of(&self.types))),
            [one] => Ok(one.clone()),
            several => compute::concat_batches(several[0].schema_ref(), several).map_err(arrow_error),
        }
    }
}

/// Rows in a file, which are read a block at a time.
struct Blocks {
    all: Rc<HeldRows>,
    /// Those that are to come.
    rows: HeldRowsReader,
    /// The first rows of the next block.
    rest: Option<RecordBatch>,
    held: Held,
}

impl Blocks {
    fn new(all: Rc<HeldRows>) -> Result<Self> {
        Ok(Self {
            rows: all.read()?,
            all,
            rest: None,
            held: Held::default(),
        })
    }

    /// The rows of the next block: so many that there is memory for their keys, too, and for what else the statement
    /// does.
    fn next(&mut self, env: &Env<'_, '_>) -> Result<Vec<RecordBatch>> {
        self.held.resize(0, env.memory)?;
        let limit = env.ctx.memory_limit_bytes;
        let free = limit.saturating_sub(env.memory.used_bytes());
        let most = (limit / BLOCK_SHARE).min(free / 2);
        let (mut batches, mut bytes, mut taken) = (Vec::new(), 0, 0);
        loop {
            let batch = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.rows.next()?,
            };
            let Some(batch) = batch else { break };
            let takes = 2 * batch_bytes(&batch) + batch.num_rows() * ENTRY_BYTES;
            if taken > 0 && taken + takes > most {
                self.rest = Some(batch);
                break;
            }
            bytes += batch_bytes(&batch);
            taken += takes;
            batches.push(batch);
        }
        self.held.resize(bytes, env.memory)?;
        Ok(batches)
    }
}

#[cold]
pub(in crate::operator) fn more_than_one_row() -> Error {
    Error::new(errno::ER_SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row")
}

/// Whether a plan gives the same rows wherever it runs in a statement: it takes no value of an outer row,
/// uses no common table from outside, and has no function that gives something else each time.
fn is_self_contained(rel: &Rel) -> bool {
    let (mut slots, mut tables) = (HashSet::new(), HashSet::new());
    rel.walk(&mut |rel| match rel {
        Rel::Apply(apply) => slots.extend(apply.outer.iter().map(|outer| outer.slot)),
        Rel::With { id, .. } => {
            tables.insert(*id);
        }
        _ => {}
    });
    let mut contained = true;
    rel.walk(&mut |rel| {
        if let Rel::CommonTable { id, .. } = rel {
            contained &= tables.contains(id);
        }
        rel.expressions(&mut |expr| {
            contained &= functions::is_deterministic(expr);
            expr.walk(&mut |expr| {
                if let Expr::Outer { slot, .. } = expr {
                    contained &= slots.contains(slot);
                }
            });
        });
    });
    contained
}
