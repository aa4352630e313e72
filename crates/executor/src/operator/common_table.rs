//! Common table expressions: rows that are made once and used by several operators.
//!
//! WITH is no operator. While the operators of its body are made, it is part of their [`Scope`]; each use
//! finds the rows there. The first use makes all rows, and the statement's memory counts them.
//! [`super::recursive`] makes the rows of a recursive one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use arrow::record_batch::RecordBatch;
use planner::logical::CommonTableId;
use planner::plan::Rel;
use types::{Error, Result};

use super::Operator;
use super::filter::split;
use super::part::Part;
use crate::batch::{ALL_ROWS, batch_bytes};
use crate::env::Env;

/// The common tables that an operator may use.
#[derive(Clone, Default)]
pub(crate) struct Scope<'p> {
    tables: Option<Rc<Binding<'p>>>,
    /// Set within a subquery that runs for each row.
    remembered: Option<Rc<Remembered>>,
}

struct Binding<'p> {
    id: CommonTableId,
    rows: BoundRows<'p>,
    outer: Scope<'p>,
}

enum BoundRows<'p> {
    /// All rows.
    Made(MadeOnce<'p>),
    /// In the step of a recursion: the rows of the round before.
    Round(Rc<Round>),
    /// In the definition: which recursion it is of.
    Definition,
}

/// Rows of parts of the plan that many runs of a subquery share.
#[derive(Default)]
struct Remembered {
    /// By the address of the part.
    rows: RefCell<HashMap<usize, RecordBatch>>,
    bytes: Cell<usize>,
}

struct MadeOnce<'p> {
    definition: &'p Rel,
    rows: RefCell<Option<Rc<[RecordBatch]>>>,
    bytes: Cell<usize>,
}

/// The rows of one round of a recursion.
#[derive(Default)]
pub(super) struct Round {
    pub rows: RefCell<Rc<[RecordBatch]>>,
}

impl<'p> Scope<'p> {
    /// The scope of a WITH's body.
    pub fn with(&self, id: CommonTableId, definition: &'p Rel) -> Self {
        let made_once = MadeOnce {
            definition,
            rows: RefCell::new(None),
            bytes: Cell::new(0),
        };
        self.and(id, BoundRows::Made(made_once))
    }

    /// The scope of a recursion's step.
    pub(super) fn with_round(&self, round: &Rc<Round>) -> Result<Self> {
        let mut definitions = self
            .bindings()
            .filter(|b| matches!(b.rows, BoundRows::Definition));
        match definitions.next() {
            Some(definition) => Ok(self.and(definition.id, BoundRows::Round(Rc::clone(round)))),
            None => Err(Error::internal("a recursion outside of WITH")),
        }
    }

    fn and(&self, id: CommonTableId, rows: BoundRows<'p>) -> Self {
        Self {
            tables: Some(Rc::new(Binding {
                id,
                rows,
                outer: self.clone(),
            })),
            remembered: self.remembered.clone(),
        }
    }

    /// The scope of a subquery that runs for each row.
    pub(super) fn remembering(&self) -> Self {
        Self {
            tables: self.tables.clone(),
            remembered: self.remembered.clone().or_else(|| Some(Rc::default())),
        }
    }

    pub(super) fn remembers(&self) -> bool {
        self.remembered.is_some()
    }

    /// The rows of a part of the plan, from another run.
    pub(super) fn remembered(&self, part: &Rel) -> Option<RecordBatch> {
        let remembered = self.remembered.as_ref()?;
        remembered
            .rows
            .borrow()
            .get(&std::ptr::from_ref(part).addr())
            .cloned()
    }

    /// Remembers the rows of a part, which the statement's memory counts.
    pub(super) fn remember(&self, part: &Rel, rows: &RecordBatch) {
        if let Some(remembered) = &self.remembered {
            let mut all = remembered.rows.borrow_mut();
            all.insert(std::ptr::from_ref(part).addr(), rows.clone());
            remembered.bytes.set(remembered.bytes.get() + batch_bytes(rows));
        }
    }

    fn bindings(&self) -> impl Iterator<Item = &Binding<'p>> {
        std::iter::successors(self.tables.as_deref(), |binding| binding.outer.tables.as_deref())
    }

    /// The rows of a common table, which the first call makes.
    fn rows(&self, id: CommonTableId, recursive: bool, env: &mut Env<'_, '_>) -> Result<Rc<[RecordBatch]>> {
        for binding in self.bindings().filter(|binding| binding.id == id) {
            match &binding.rows {
                BoundRows::Round(round) if recursive => return Ok(round.rows.borrow().clone()),
                BoundRows::Made(made) if !recursive => return made.rows(id, &binding.outer, env),
                _ => {}
            }
        }
        Err(Error::internal("a common table is used outside of its WITH"))
    }

    /// How many bytes the common tables hold, and what is remembered.
    pub(super) fn held_bytes(&self) -> usize {
        let held = |binding: &Binding<'_>| match &binding.rows {
            BoundRows::Made(made) => made.bytes.get(),
            BoundRows::Round(_) | BoundRows::Definition => 0,
        };
        let remembered = self
            .remembered
            .as_ref()
            .map_or(0, |remembered| remembered.bytes.get());
        self.bindings().map(held).sum::<usize>() + remembered
    }
}

impl<'p> MadeOnce<'p> {
    fn rows(&self, id: CommonTableId, outer: &Scope<'p>, env: &mut Env<'_, '_>) -> Result<Rc<[RecordBatch]>> {
        if let Some(rows) = &*self.rows.borrow() {
            return Ok(Rc::clone(rows));
        }
        let scope = outer.and(id, BoundRows::Definition);
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut part = Part::open(self.definition, &scope, env)?;
        while let Some(batch) = part.next(env, ALL_ROWS)? {
            let more = batch_bytes(&batch);
            env.memory.grow(more)?;
            bytes += more;
            batches.push(batch);
        }
        part.close(env);
        self.bytes.set(bytes);
        let rows: Rc<[RecordBatch]> = batches.into();
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
    rows: Option<Rc<[RecordBatch]>>,
    given: usize,
    rest: Option<RecordBatch>,
}

impl<'p> CommonTable<'p> {
    pub fn new(id: CommonTableId, recursive: bool, scope: &Scope<'p>) -> Self {
        Self {
            id,
            recursive,
            scope: scope.clone(),
            rows: None,
            given: 0,
            rest: None,
        }
    }
}

impl Operator for CommonTable<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        env.check_interrupted()?;
        let rows = match &self.rows {
            Some(rows) => rows,
            None => {
                let rows = self.scope.rows(self.id, self.recursive, env)?;
                self.rows.insert(rows)
            }
        };
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => {
                let Some(batch) = rows.get(self.given) else {
                    return Ok(None);
                };
                self.given += 1;
                batch.clone()
            }
        };
        let (now, later) = split(batch, wanted);
        self.rest = later;
        Ok(Some(now))
    }
}
