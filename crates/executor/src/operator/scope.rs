//! What the operators of a part of a plan share: the common tables that they may use, the rows that many runs
//! of a subquery remember, and the way to make operators of a part that runs later, or again.
//!
//! The functions that make operators and the operators that run parts of the plan call each other. So the
//! first of them ([`Build`]) is part of the scope, and files import in one direction.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use arrow::record_batch::RecordBatch;
use planner::logical::CommonTableId;
use planner::plan::Rel;
use types::{Error, Result};

use super::BoxOperator;
use crate::batch::batch_bytes;
use crate::env::Env;
use crate::spill::HeldRows;

/// Makes the operators of a part of a plan: `tree::build`.
pub(super) type Build = for<'p> fn(&'p Rel, &Scope<'p>, &mut Env<'_, '_>) -> Result<BoxOperator<'p>>;

#[derive(Clone)]
pub(super) struct Scope<'p> {
    build: Build,
    tables: Option<Rc<Binding<'p>>>,
    /// Set within a subquery that runs for each row.
    remembered: Option<Rc<Remembered>>,
}

pub(super) struct Binding<'p> {
    id: CommonTableId,
    pub rows: BoundRows<'p>,
    pub outer: Scope<'p>,
}

pub(super) enum BoundRows<'p> {
    /// All rows.
    Made(MadeOnce<'p>),
    /// In the step of a recursion: the rows of the round before.
    Round(Rc<Round>),
    /// In the definition: which recursion it is of.
    Definition,
    /// The input of a pipeline. `None` once its only use has it.
    Given(RefCell<Option<BoxOperator<'p>>>),
}

/// Rows of parts of the plan that many runs of a subquery share.
#[derive(Default)]
struct Remembered {
    /// By the address of the part.
    rows: RefCell<HashMap<usize, RecordBatch>>,
    bytes: Cell<usize>,
}

/// The rows of a common table, which its first use makes.
pub(super) struct MadeOnce<'p> {
    pub definition: &'p Rel,
    pub rows: RefCell<Option<Rc<HeldRows>>>,
    pub bytes: Cell<usize>,
}

/// The rows of one round of a recursion.
#[derive(Default)]
pub(super) struct Round {
    pub rows: RefCell<Rc<HeldRows>>,
}

impl<'p> Scope<'p> {
    /// The scope of a whole plan.
    pub fn new(build: Build) -> Self {
        Self {
            build,
            tables: None,
            remembered: None,
        }
    }

    /// Makes the operators of a part of the plan.
    pub fn build(&self, part: &'p Rel, env: &mut Env<'_, '_>) -> Result<BoxOperator<'p>> {
        (self.build)(part, self, env)
    }

    /// The scope of a WITH's body.
    pub fn with(&self, id: CommonTableId, definition: &'p Rel) -> Self {
        let made_once = MadeOnce {
            definition,
            rows: RefCell::new(None),
            bytes: Cell::new(0),
        };
        self.and(id, BoundRows::Made(made_once))
    }

    /// The scope of a pipeline, whose input has a name.
    pub fn given(&self, id: CommonTableId, input: BoxOperator<'p>) -> Self {
        self.and(id, BoundRows::Given(RefCell::new(Some(input))))
    }

    /// The input of a pipeline.
    pub fn take_given(&self, id: CommonTableId) -> Option<BoxOperator<'p>> {
        self.bindings_of(id).find_map(|binding| match &binding.rows {
            BoundRows::Given(input) => input.borrow_mut().take(),
            _ => None,
        })
    }

    /// The scope of a recursion's step.
    pub fn with_round(&self, round: &Rc<Round>) -> Result<Self> {
        let mut definitions = self
            .bindings()
            .filter(|b| matches!(b.rows, BoundRows::Definition));
        match definitions.next() {
            Some(definition) => Ok(self.and(definition.id, BoundRows::Round(Rc::clone(round)))),
            None => Err(Error::internal("a recursion outside of WITH")),
        }
    }

    /// The scope of a WITH's definition.
    pub fn with_definition(&self, id: CommonTableId) -> Self {
        self.and(id, BoundRows::Definition)
    }

    fn and(&self, id: CommonTableId, rows: BoundRows<'p>) -> Self {
        Self {
            build: self.build,
            tables: Some(Rc::new(Binding {
                id,
                rows,
                outer: self.clone(),
            })),
            remembered: self.remembered.clone(),
        }
    }

    /// The scope of a subquery that runs for each row.
    pub fn remembering(&self) -> Self {
        Self {
            build: self.build,
            tables: self.tables.clone(),
            remembered: self.remembered.clone().or_else(|| Some(Rc::default())),
        }
    }

    pub fn remembers(&self) -> bool {
        self.remembered.is_some()
    }

    /// The rows of a part of the plan, from another run.
    pub fn remembered(&self, part: &Rel) -> Option<RecordBatch> {
        let remembered = self.remembered.as_ref()?;
        remembered
            .rows
            .borrow()
            .get(&std::ptr::from_ref(part).addr())
            .cloned()
    }

    /// Remembers the rows of a part, which the statement's memory counts.
    pub fn remember(&self, part: &Rel, rows: &RecordBatch) {
        if let Some(remembered) = &self.remembered {
            let mut all = remembered.rows.borrow_mut();
            all.insert(std::ptr::from_ref(part).addr(), rows.clone());
            remembered.bytes.set(remembered.bytes.get() + batch_bytes(rows));
        }
    }

    /// Does not remember a part's rows any more. Their bytes stay counted until the caller returns them.
    pub fn forget(&self, part: &Rel) {
        if let Some(remembered) = &self.remembered
            && let Some(rows) = remembered
                .rows
                .borrow_mut()
                .remove(&std::ptr::from_ref(part).addr())
        {
            let bytes = remembered.bytes.get().saturating_sub(batch_bytes(&rows));
            remembered.bytes.set(bytes);
        }
    }

    fn bindings(&self) -> impl Iterator<Item = &Binding<'p>> {
        std::iter::successors(self.tables.as_deref(), |binding| binding.outer.tables.as_deref())
    }

    /// What a name of WITH means, innermost first.
    pub fn bindings_of(&self, id: CommonTableId) -> impl Iterator<Item = &Binding<'p>> {
        self.bindings().filter(move |binding| binding.id == id)
    }

    /// How many bytes the common tables hold, and what is remembered.
    pub fn held_bytes(&self) -> usize {
        let held = |binding: &Binding<'_>| match &binding.rows {
            BoundRows::Made(made) => made.bytes.get(),
            BoundRows::Round(_) | BoundRows::Definition | BoundRows::Given(_) => 0,
        };
        let remembered = self
            .remembered
            .as_ref()
            .map_or(0, |remembered| remembered.bytes.get());
        self.bindings().map(held).sum::<usize>() + remembered
    }
}
