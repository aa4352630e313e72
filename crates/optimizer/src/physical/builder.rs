//! What all operators share while a statement's plan is made, and what they ask of each other: the columns,
//! order and number of rows that one wants of its input, and what it gets.

use std::cell::{Cell, RefCell};

use functions::Expr;
use planner::logical::{Column, ColumnId, Logical};
use planner::plan::{OutputColumn, Rel, Route};

use crate::OptimizerEnv;
use crate::access::{Grouping, RowLimit};
use crate::distinct_values::DistinctValues;
use crate::expr::ColumnList;

/// The executor of a plan that only one of them can run.
pub const ONLY: Route = Route::Transactional;

/// A subquery in two forms, inside one in two forms, and so on, is built twice as often at each level.
const ALTERNATIVES_MAX: u32 = 3;

/// The state of a statement's plan while it is made.
pub struct Builder<'a> {
    pub env: &'a OptimizerEnv<'a>,
    /// Of each table, by its alias: the indexes that could serve.
    pub possible_keys: RefCell<Vec<(String, Vec<String>)>>,
    /// The next slot of an outer column.
    pub slots: Cell<usize>,
    /// How many alternatives are being built within each other.
    alternatives: Cell<u32>,
    /// The id of the next column that is added to the statement's.
    next_column: Cell<ColumnId>,
    /// For which executor the plan is made. `None`: that is decided with the access path of its only table.
    pub route: Cell<Option<Route>>,
    pub distinct: RefCell<DistinctValues>,
    /// The statement is a query: what a write reads is locked, and of all rows.
    pub is_query: Cell<bool>,
}

/// An operator's requirements for its input.
#[derive(Debug, Clone)]
pub struct Want {
    /// The columns, in the order that needs no projection. The input may give others besides.
    pub columns: Vec<ColumnId>,
    /// The columns and no others, if that costs nothing.
    pub exact: bool,
    /// The order of a sort above, if it is one of columns: these, and whether descending.
    pub order: Vec<(ColumnId, bool)>,
    /// Columns that are wanted besides where rows do not come in the order.
    pub sort_columns: Vec<ColumnId>,
    pub limit: RowLimit,
    /// A LIMIT ends the reading after a few rows, unless rows are gathered or left out.
    pub ends_early: bool,
    /// The number of rows that LIMIT right above wants.
    pub fetch: Option<Expr>,
    /// Rows of a table that are neither the first nor the last of their group may be left out, and rows of the same
    /// values may come several times.
    pub groups: Option<Grouping<ColumnId>>,
}

/// An operator's physical plan.
#[derive(Debug)]
pub struct Built {
    pub rel: Rel,
    /// The column at each position of the output.
    pub layout: Vec<ColumnId>,
    /// Rows come in the wanted order.
    pub ordered: bool,
    /// About how many rows come, and the microseconds that all of them take.
    pub rows: f64,
    pub cost: f64,
}

impl Want {
    pub fn of(columns: Vec<ColumnId>) -> Self {
        Self {
            columns,
            exact: false,
            order: Vec::new(),
            sort_columns: Vec::new(),
            limit: RowLimit::All,
            ends_early: false,
            fetch: None,
            groups: None,
        }
    }

    /// Whether there is a row, and nothing of it.
    pub fn any_row() -> Self {
        Self {
            limit: RowLimit::AtMost(1),
            ..Self::of(Vec::new())
        }
    }

    /// The columns alone, those of the sort above included.
    pub fn all_columns(&self) -> ColumnList {
        let mut columns = ColumnList(self.columns.clone());
        self.sort_columns.iter().for_each(|id| columns.add(*id));
        columns
    }

    /// Whether a sort above needs the rows in an order.
    pub fn sorts(&self) -> bool {
        !self.order.is_empty() || !self.sort_columns.is_empty()
    }

    /// What an operator that gives rows in the order of its left side wants of it: of the `wanted` columns those
    /// that it has, and the order too, if that is one of the left side's columns.
    pub fn of_left(&self, wanted: &ColumnList, left_ids: &[ColumnId]) -> Self {
        let of_left = |id: &ColumnId| left_ids.contains(id);
        let mut columns = wanted.clone();
        let orders = !self.order.is_empty()
            && self.order.iter().all(|(id, _)| of_left(id))
            && self.sort_columns.iter().all(of_left);
        if !orders {
            self.sort_columns.iter().for_each(|id| columns.add(*id));
        }
        columns.0.retain(of_left);
        let mut below = Self::of(columns.0);
        if orders {
            below.order.clone_from(&self.order);
            below.sort_columns.clone_from(&self.sort_columns);
        }
        below
    }
}

impl<'a> Builder<'a> {
    /// `next_column`: the first id that the statement has not used.
    pub fn new(env: &'a OptimizerEnv<'a>, next_column: ColumnId) -> Self {
        Self {
            env,
            possible_keys: RefCell::default(),
            slots: Cell::new(0),
            alternatives: Cell::new(0),
            next_column: Cell::new(next_column),
            route: Cell::new(Some(ONLY)),
            distinct: RefCell::default(),
            is_query: Cell::new(false),
        }
    }

    /// Whether the plan is made for `analytics`: from whole tables, of which it may look up rows of others.
    pub fn is_analytical(&self) -> bool {
        self.route.get() == Some(Route::Analytical)
    }

    /// Builds a subquery that runs for each row: `executor` runs it, in a plan for `analytics` too.
    pub fn for_rows<T>(&self, build: impl FnOnce() -> T) -> T {
        let route = self.route.replace(Some(ONLY));
        let built = build();
        self.route.set(route);
        built
    }

    /// Takes in the tables of a part of the query, to estimate joins by.
    pub fn learn(&self, rel: &Logical) {
        self.distinct.borrow_mut().learn(rel, self.env.estimates);
    }

    /// Records the indexes that could have served a table in any of the compared plans, for EXPLAIN.
    pub fn note_keys(&self, alias: &str, keys: Vec<String>) {
        let mut noted = self.possible_keys.borrow_mut();
        match noted.iter_mut().find(|(table, _)| table == alias) {
            Some((_, known)) if known.len() < keys.len() => *known = keys,
            Some(_) => {}
            None => noted.push((alias.to_owned(), keys)),
        }
    }

    /// A number for an outer column, unique in the statement.
    pub fn new_slot(&self) -> usize {
        let slot = self.slots.get();
        self.slots.set(slot + 1);
        slot
    }

    /// A column that the statement does not have.
    pub fn new_column(&self) -> ColumnId {
        let id = self.next_column.get();
        self.next_column.set(ColumnId(id.0 + 1));
        id
    }

    /// Whether a subquery may be built in a second form.
    pub fn may_compare(&self) -> bool {
        self.alternatives.get() < ALTERNATIVES_MAX
    }

    /// Builds the second form of a subquery.
    pub fn alternative<T>(&self, build: impl FnOnce() -> T) -> T {
        let depth = self.alternatives.get();
        self.alternatives.set(depth + 1);
        let built = build();
        self.alternatives.set(depth);
        built
    }
}

pub fn output_column(column: &Column) -> OutputColumn {
    OutputColumn {
        ty: column.ty,
        nullable: column.nullable,
    }
}
