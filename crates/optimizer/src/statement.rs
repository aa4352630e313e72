//! Statements: queries, and the writes around them.

use functions::Expr;
use planner::logical::{
    ColumnId, LogicalAssignment, LogicalFoundTable, LogicalFoundWrite, LogicalInsert, LogicalInsertMode,
    LogicalInsertSource, LogicalQuery, LogicalStatement, columns_of,
};
use planner::plan::{
    Assignment, DeletePlan, ExecutionCache, FoundTable, FoundWritePlan, InsertMode, InsertPlan, InsertSource,
    LargerPlan, Locking, Plan, QueryPlan, Rel, Route, UpdatePlan,
};
use types::{Error, Result};

use crate::expr::ColumnList;
use crate::physical::builder::{Builder, ONLY, Want};
use crate::physical::pushed::Pushdown;
use crate::physical::route::{self, Routed};
use crate::physical::target;
use crate::rules;

pub fn build(builder: &Builder<'_>, statement: LogicalStatement) -> Result<Plan> {
    Ok(match statement {
        LogicalStatement::Query(query) => {
            let free = !builder.env.assigns;
            builder.is_query.set(true);
            Plan::Query(of_query(builder, query, free)?)
        }
        LogicalStatement::Insert(insert) => Plan::Insert(of_insert(builder, insert)?),
        LogicalStatement::Update(update) => {
            let first = update.target.table.first.0;
            Plan::Update(UpdatePlan {
                target: target::build(builder, update.target)?,
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
            target: target::build(builder, delete.target)?,
            ignore: delete.ignore,
            foreign_keys: delete.foreign_keys,
            execution_cache: ExecutionCache::default(),
        }),
        LogicalStatement::FoundWrite(write) => Plan::FoundWrite(found_write(builder, write)?),
    })
}

fn of_insert(builder: &Builder<'_>, insert: LogicalInsert) -> Result<InsertPlan> {
    Ok(InsertPlan {
        table: insert.table,
        partitions: insert.partitions,
        columns: insert.columns,
        given_rows: insert.given_rows,
        source: match insert.source {
            LogicalInsertSource::Values(rows) => InsertSource::Values(rows),
            LogicalInsertSource::Literals(values) => InsertSource::Literals(values),
            LogicalInsertSource::Query(query) => {
                InsertSource::Query(Box::new(of_query(builder, *query, false)?))
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
    })
}

fn found_write(builder: &Builder<'_>, write: LogicalFoundWrite) -> Result<FoundWritePlan> {
    let mut query = LogicalQuery {
        output: read_columns(&write.tables),
        root: write.root,
        columns: Vec::new(),
        limit_of_output: None,
        max_execution: None,
        in_order: true,
    };
    rules::apply_all(&mut query, builder.env)?;
    builder.learn(&query.root);
    builder.route.set(Some(ONLY));
    let layout = query.output.clone();
    let built = builder.build_exact(query.root, Want::of(query.output))?;
    let is_update = write.tables.iter().any(|found| found.assignments.is_some());
    let tables = write.tables.into_iter().map(|found| found_table(found, &layout));
    Ok(FoundWritePlan {
        root: built.rel,
        tables: tables.collect::<Result<_>>()?,
        ignore: write.ignore,
        is_update,
    })
}

/// What a write has to read of its tables: the rows, their keys, and what values and checks are computed of.
fn read_columns(tables: &[LogicalFoundTable]) -> Vec<ColumnId> {
    let mut columns = ColumnList::default();
    for found in tables {
        let get = &found.table;
        (0..get.table.columns.len()).for_each(|offset| columns.add(get.id(offset)));
        columns.add(get.key());
        let values = found.assignments.iter().flatten();
        values
            .filter_map(|a| a.value.as_ref())
            .for_each(|value| columns.add_all(value));
        found
            .check
            .iter()
            .for_each(|check| columns.add_all(&check.condition));
    }
    columns.0
}

/// A written table over what is read: the columns of `layout`.
fn found_table(found: LogicalFoundTable, layout: &[ColumnId]) -> Result<FoundTable> {
    let get = found.table;
    let width = get.table.columns.len();
    let position = |id: ColumnId| {
        let found = layout.iter().position(|column| *column == id);
        found.ok_or_else(|| Error::internal("a written column that is not read"))
    };
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
    Ok(FoundTable {
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
    })
}

/// `free`: it may run in `analytics`.
fn of_query(builder: &Builder<'_>, mut query: LogicalQuery, free: bool) -> Result<QueryPlan> {
    rules::apply_all(&mut query, builder.env)?;
    builder.learn(&query.root);
    let Routed {
        mut built,
        route,
        mut larger,
    } = route::build(builder, query.root, Want::of(query.output), free)?;
    let env = builder.env;
    Pushdown { env, route }.apply(&mut built.rel)?;
    if let Some((root, _)) = &mut larger {
        let route = Route::Analytical;
        Pushdown { env, route }.apply(root)?;
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
