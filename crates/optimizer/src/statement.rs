//! Statements: queries, and the writes around them.

use functions::Expr;
use planner::logical::{
    ColumnId, LogicalAssignment, LogicalFoundWrite, LogicalInsertMode, LogicalInsertSource, LogicalQuery,
    LogicalStatement, columns_of,
};
use planner::plan::{
    Assignment, DeletePlan, ExecutionCache, FoundTable, FoundWritePlan, InsertMode, InsertPlan, InsertSource,
    LargerPlan, Locking, Plan, QueryPlan, Rel, Route, UpdatePlan,
};
use types::{Error, Result};

use crate::expr::ColumnList;
use crate::physical::{Builder, ONLY, Routed, Want};
use crate::rules;

impl Builder<'_> {
    pub fn statement(&self, statement: LogicalStatement) -> Result<Plan> {
        Ok(match statement {
            LogicalStatement::Query(query) => {
                let free = !self.env.assigns;
                self.is_query.set(true);
                Plan::Query(self.query(query, free)?)
            }
            LogicalStatement::Insert(insert) => Plan::Insert(InsertPlan {
                table: insert.table,
                partitions: insert.partitions,
                columns: insert.columns,
                given_rows: insert.given_rows,
                source: match insert.source {
                    LogicalInsertSource::Values(rows) => InsertSource::Values(rows),
                    LogicalInsertSource::Literals(values) => InsertSource::Literals(values),
                    LogicalInsertSource::Query(query) => {
                        InsertSource::Query(Box::new(self.query(*query, false)?))
                    }
                    LogicalInsertSource::File(file) => InsertSource::File(file),
                },
                mode: match insert.mode {
                    LogicalInsertMode::Insert => InsertMode::Insert,
                    LogicalInsertMode::Replace => InsertMode::Replace,
                    LogicalInsertMode::Update(list) => InsertMode::Update(assignments(list, 0)),
                },
                check: insert.check,
                ignore: insert.ignore,
                foreign_keys: insert.foreign_keys,
                execution_cache: ExecutionCache::default(),
            }),
            LogicalStatement::Update(update) => {
                let first = update.target.table.first.0;
                Plan::Update(UpdatePlan {
                    target: self.target(update.target)?,
                    assignments: assignments(update.assignments, first),
                    check: update
                        .check
                        .map(|check| check.map_columns(&|id| id.wrapping_sub(first))),
                    ignore: update.ignore,
                    foreign_keys: update.foreign_keys,
                    execution_cache: ExecutionCache::default(),
                })
            }
            LogicalStatement::Delete(delete) => Plan::Delete(DeletePlan {
                target: self.target(delete.target)?,
                ignore: delete.ignore,
                foreign_keys: delete.foreign_keys,
                execution_cache: ExecutionCache::default(),
            }),
            LogicalStatement::FoundWrite(write) => Plan::FoundWrite(self.found_write(write)?),
        })
    }

    fn found_write(&self, write: LogicalFoundWrite) -> Result<FoundWritePlan> {
        let mut wanted = ColumnList::default();
        for found in &write.tables {
            let get = &found.table;
            (0..get.table.columns.len()).for_each(|offset| wanted.add(get.id(offset)));
            wanted.add(get.key());
            let values = found.assignments.iter().flatten();
            values
                .filter_map(|a| a.value.as_ref())
                .for_each(|value| wanted.add_all(value));
            found
                .check
                .iter()
                .for_each(|check| wanted.add_all(&check.condition));
        }
        let mut query = LogicalQuery {
            root: write.root,
            output: wanted.0,
            columns: Vec::new(),
            limit_of_output: None,
            max_execution: None,
            in_order: true,
        };
        rules::apply_all(&mut query, self.env)?;
        self.learn(&query.root);
        self.route.set(Some(ONLY));
        let layout = query.output.clone();
        let built = self.build_exact(query.root, Want::of(query.output))?;
        let position = |id: ColumnId| {
            let found = layout.iter().position(|column| *column == id);
            found.ok_or_else(|| Error::internal("a written column that is not read"))
        };
        let mut tables = Vec::with_capacity(write.tables.len());
        let mut is_update = false;
        for found in write.tables {
            let get = found.table;
            let width = get.table.columns.len();
            is_update |= found.assignments.is_some();
            for value in found
                .assignments
                .iter()
                .flatten()
                .filter_map(|a| a.value.as_ref())
            {
                columns_of(value)
                    .into_iter()
                    .try_for_each(|id| position(id).map(drop))?;
            }
            // All of them are there.
            let of_row = |id: usize| match get.offset(ColumnId(id)) {
                Some(offset) if offset < width => offset,
                _ => width + position(ColumnId(id)).unwrap_or_default(),
            };
            let assignment = |mut assignment: LogicalAssignment| {
                assignment
                    .value
                    .iter_mut()
                    .for_each(|value| value.map_columns(&of_row));
                Assignment {
                    column: assignment.column,
                    value: assignment.value,
                }
            };
            tables.push(FoundTable {
                columns: (0..width)
                    .map(|offset| position(get.id(offset)))
                    .collect::<Result<_>>()?,
                key: position(get.key())?,
                assignments: found
                    .assignments
                    .map(|list| list.into_iter().map(assignment).collect()),
                check: found.check.map(|check| check.map_columns(&of_row)),
                table: get.table.clone(),
                partitions: get.partitions.clone(),
                foreign_keys: found.foreign_keys,
            });
        }
        Ok(FoundWritePlan {
            root: built.rel,
            tables,
            ignore: write.ignore,
            is_update,
        })
    }

    /// `free`: it may run in `analytics`.
    fn query(&self, mut query: LogicalQuery, free: bool) -> Result<QueryPlan> {
        rules::apply_all(&mut query, self.env)?;
        self.learn(&query.root);
        let Routed {
            mut built,
            route,
            mut larger,
        } = self.routed(query.root, Want::of(query.output), free)?;
        self.push_down(&mut built.rel, route)?;
        if let Some((root, _)) = &mut larger {
            self.push_down(root, Route::Analytical)?;
        }
        let mut plan = QueryPlan {
            locking: strongest_lock(&built.rel),
            root: built.rel,
            columns: query.columns,
            route,
            limit_of_output: query.limit_of_output,
            max_execution: query.max_execution,
            larger: None,
        };
        plan.larger = larger.filter(|_| plan.locking.is_none()).map(|(root, rows_max)| {
            Box::new(LargerPlan {
                query: QueryPlan {
                    root,
                    route: Route::Analytical,
                    ..plan.clone()
                },
                rows_max,
            })
        });
        Ok(plan)
    }
}

/// Over the offsets of the table whose first column has the id `first`.
fn assignments(list: Vec<LogicalAssignment>, first: usize) -> Vec<Assignment> {
    let by_offset = |mut value: Expr| {
        value.map_columns(&|id| id.wrapping_sub(first));
        value
    };
    let assignment = |assignment: LogicalAssignment| Assignment {
        column: assignment.column,
        value: assignment.value.map(by_offset),
    };
    list.into_iter().map(assignment).collect()
}

fn strongest_lock(rel: &Rel) -> Option<Locking> {
    let locks = rel.scans().into_iter().filter_map(|scan| scan.locking);
    locks.reduce(|a, b| if a.exclusive { a } else { b })
}
