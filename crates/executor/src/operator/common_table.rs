//! Common table expressions: rows that are made once and used by several operators.
//!
//! WITH is not an operator. While the operators of its body are made, it is part of their [`Scope`]; each use
//! finds the rows there. The first use makes all rows, which are held in memory or in a file.
//! [`super::recursive`] makes the rows of a recursive one.

use std::rc::Rc;

use arrow::record_batch::RecordBatch;
use planner::logical::CommonTableId;
use types::{Error, Result};

use super::Operator;
use super::filter::split;
use super::part::PlanPart;
use super::scope::{BoundRows, MadeOnce, Scope};
use crate::batch::ALL_ROWS;
use crate::env::Env;
use crate::spill::{HeldRows, HeldRowsReader};

/// The rows of a common table, which the first call makes.
fn rows(
    scope: &Scope<'_>,
    id: CommonTableId,
    recursive: bool,
    env: &mut Env<'_, '_>,
) -> Result<Rc<HeldRows>> {
    for binding in scope.bindings_of(id) {
        match &binding.rows {
            BoundRows::Round(round) if recursive => return Ok(round.rows.borrow().clone()),
            BoundRows::Made(made) if !recursive => return made.rows(id, &binding.outer, env),
            _ => {}
        }
    }
    Err(Error::internal("a common table is used outside of its WITH"))
}

impl<'p> MadeOnce<'p> {
    fn rows(&self, id: CommonTableId, outer: &Scope<'p>, env: &mut Env<'_, '_>) -> Result<Rc<HeldRows>> {
        if let Some(rows) = &*self.rows.borrow() {
            return Ok(Rc::clone(rows));
        }
        let scope = outer.with_definition(id);
        let mut rows = HeldRows::builder();
        let mut part = PlanPart::open(self.definition, &scope, env)?;
        while let Some(batch) = part.next(env, ALL_ROWS)? {
            rows.add(batch, env.memory, env.ctx)?;
        }
        part.close(env);
        let rows = Rc::new(rows.finish()?);
        self.bytes.set(rows.held_bytes());
        *self.rows.borrow_mut() = Some(Rc::clone(&rows));
        Ok(rows)
    }
}

/// A use of a common table.
pub(super) struct CommonTable<'p> {
    id: CommonTableId,
    recursive: bool,
    scope: Scope<'p>,
    /// `None` before the first call.
    rows: Option<HeldRowsReader>,
    rest: Option<RecordBatch>,
}

impl<'p> CommonTable<'p> {
    pub fn new(id: CommonTableId, recursive: bool, scope: &Scope<'p>) -> Self {
        Self {
            id,
            recursive,
            scope: scope.clone(),
            rows: None,
            rest: None,
        }
    }
}

impl Operator for CommonTable<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let rows = rows(&self.scope, self.id, self.recursive, env)?;
                self.rows.insert(rows.read()?)
            }
        };
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => {
                let Some(batch) = rows.next()? else {
                    return Ok(None);
                };
                batch
            }
        };
        let (now, later) = split(batch, wanted);
        self.rest = later;
        Ok(Some(now))
    }
}
