//! From the logical to the physical plan: how each operator runs, and positions in place of column ids.
//!
//! An operator passes its requirements to its input ([`Want`]): columns, and an order and a number of rows if
//! the input can provide them cheaply. It gets back operators and the ids of their columns ([`Built`]).
//!
//! - [`pushed`]: what the stores compute, which is decided last.
//! - [`scan`], [`extreme`]: one table. [`join`], [`apply`], [`set`]: several inputs. [`project`], [`sort`],
//!   [`aggregate`], [`window`]: one input. [`target`]: the rows of UPDATE and DELETE.

mod aggregate;
mod apply;
mod extreme;
mod join;
mod join_keys;
mod lookup;
mod project;
mod pushed;
mod route;
mod scan;
mod set;
mod sort;
mod target;
mod window;

pub use apply::replace_in;
pub use join::ids;
pub use join_keys::{key_of, under_one_type};
pub use lookup::table_of;
pub use route::Routed;

use std::cell::{Cell, RefCell};

use functions::Expr;
use planner::logical::{Column, ColumnId, Logical, TableFunction};
use planner::plan::{JsonTableScan, OutputColumn, Rel, Route};
use types::Result;

use crate::access::{Grouping, RowLimit};
use crate::distinct_values::DistinctValues;
use crate::expr::{ColumnList, positioned};
use crate::{OptimizerEnv, cost};

/// The executor of a plan that only one of them can run.
pub const ONLY: Route = Route::Transactional;

/// Ids from here on are of columns that the optimizer adds.
const ADDED_COLUMNS: usize = 1 << 40;

pub struct Builder<'a> {
    pub env: &'a OptimizerEnv<'a>,
    /// Of each table, by its alias: the indexes that could serve.
    pub possible_keys: RefCell<Vec<(String, Vec<String>)>>,
    /// The next slot of an outer column.
    pub slots: Cell<usize>,
    /// How many alternatives are being built within each other.
    pub alternatives: Cell<u32>,
    /// How many columns have been added to the statement's.
    added_columns: Cell<usize>,
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

/// A subquery in two forms, inside one in two forms, and so on, is built twice as often at each level.
pub const ALTERNATIVES_MAX: u32 = 3;

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

    /// The columns alone, those of the sort above included.
    pub fn all_columns(&self) -> ColumnList {
        let mut columns = ColumnList(self.columns.clone());
        self.sort_columns.iter().for_each(|id| columns.add(*id));
        columns
    }
}

impl<'a> Builder<'a> {
    pub fn new(env: &'a OptimizerEnv<'a>) -> Self {
        Self {
            env,
            possible_keys: RefCell::default(),
            slots: Cell::new(0),
            alternatives: Cell::new(0),
            added_columns: Cell::new(0),
            route: Cell::new(Some(ONLY)),
            distinct: RefCell::default(),
            is_query: Cell::new(false),
        }
    }

    pub fn build(&self, rel: Logical, want: &Want) -> Result<Built> {
        syntax::stack::with_room(|| self.build_operator(rel, want))
    }

    fn build_operator(&self, rel: Logical, want: &Want) -> Result<Built> {
        match rel {
            Logical::OneRow => Ok(Built {
                rel: Rel::OneRow,
                layout: Vec::new(),
                ordered: true,
                rows: 1.0,
                cost: 0.0,
            }),
            Logical::Get(get) => self.relation(get, None, want),
            Logical::Values { columns, rows } => Ok(written_rows(&columns, rows, &want.all_columns().0)),
            Logical::TableFunction(function) => Ok(table_function(function)),
            Logical::Filter { input, predicate } => self.filter(*input, predicate, want),
            Logical::Project { input, columns } => self.project(*input, columns, want),
            Logical::Join(join) => self.join(join, want),
            Logical::Apply(apply) => self.apply(apply, want),
            Logical::Aggregate {
                input,
                keys,
                aggregates,
                rollup,
            } => self.aggregate(*input, keys, aggregates, rollup, want),
            Logical::Window { input, window, calls } => self.window(*input, window, calls, want),
            Logical::Sort { input, keys } => self.sort(*input, keys, want),
            Logical::Limit {
                input,
                offset: None,
                count: None,
            } => self.build(*input, want),
            Logical::Limit { input, offset, count } => self.limit(*input, offset, count, want),
            Logical::Distinct { input } => self.distinct(*input, want),
            Logical::SetOperation(operation) => self.set_operation(operation, want),
            Logical::With { id, definition, body } => self.with(id, *definition, *body, want),
            Logical::Recursive(recursive) => self.recursive(recursive),
            Logical::CommonTable(table) => Ok(Self::common_table(table)),
        }
    }

    /// The operator with these columns and no others, in their order.
    pub fn build_exact(&self, rel: Logical, mut want: Want) -> Result<Built> {
        want.exact = true;
        let types = rel.output();
        let built = self.build(rel, &want)?;
        if built.layout == want.columns {
            return Ok(built);
        }
        let mut exprs = Vec::with_capacity(want.columns.len());
        for id in &want.columns {
            let column = types.iter().find(|column| column.id == *id);
            let column =
                column.ok_or_else(|| types::Error::internal("no expression computes a result column"))?;
            exprs.push(positioned(column.expr(), &built.layout)?);
        }
        Ok(Built {
            rel: Rel::Project {
                input: Box::new(built.rel),
                exprs,
            },
            layout: want.columns,
            ..built
        })
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
        let number = self.added_columns.get();
        self.added_columns.set(number + 1);
        ColumnId(ADDED_COLUMNS + number)
    }

    fn filter(&self, input: Logical, predicate: Expr, want: &Want) -> Result<Built> {
        match input {
            Logical::Get(get) => self.relation(get, Some(predicate), want),
            Logical::Filter {
                input,
                predicate: below,
            } => {
                let both = functions::bind::call("and", vec![below, predicate], self.env.types)?;
                self.filter(*input, both, want)
            }
            input => {
                let mut columns = ColumnList(want.columns.clone());
                columns.add_all(&predicate);
                let below = Want {
                    columns: columns.0,
                    ends_early: false,
                    fetch: None,
                    exact: false,
                    groups: None,
                    ..want.clone()
                };
                let built = self.build(input, &below)?;
                Ok(Built {
                    rel: Rel::Filter {
                        predicate: positioned(predicate, &built.layout)?,
                        input: Box::new(built.rel),
                    },
                    ..built
                })
            }
        }
    }
}

fn output_column(column: &planner::logical::Column) -> OutputColumn {
    OutputColumn {
        ty: column.ty,
        nullable: column.nullable,
    }
}

fn table_function(function: TableFunction) -> Built {
    Built {
        ordered: false,
        rows: cost::TABLE_FUNCTION_ROWS,
        cost: cost::TABLE_FUNCTION_ROWS * cost::NEXT_ROW,
        layout: function.columns.iter().map(|column| column.id).collect(),
        rel: Rel::JsonTable(JsonTableScan {
            table: function.table,
            document: function.document,
            alias: function.alias,
        }),
    }
}

/// Rows that are written out, with the columns that are wanted alone: a value that nothing reads must not warn.
fn written_rows(columns: &[Column], rows: Vec<Vec<Expr>>, wanted: &[ColumnId]) -> Built {
    let kept: Vec<usize> = (0..columns.len())
        .filter(|&at| wanted.contains(&columns[at].id))
        .collect();
    let of_row = |row: Vec<Expr>| kept.iter().filter_map(|&at| row.get(at).cloned()).collect();
    Built {
        ordered: rows.len() <= 1,
        rows: rows.len() as f64,
        cost: 0.0,
        layout: kept.iter().map(|&at| columns[at].id).collect(),
        rel: Rel::Values {
            columns: kept.iter().map(|&at| output_column(&columns[at])).collect(),
            rows: rows.into_iter().map(of_row).collect(),
        },
    }
}
