//! Statements: queries, and the writes around them.

use functions::Expr;
use planner::logical::{
    AssignedSubqueries as LogicalAssignedSubqueries, Column, ColumnId, Logical, LogicalAssignment,
    LogicalFoundTable, LogicalFoundWrite, LogicalInsert, LogicalInsertMode, LogicalInsertSource,
    LogicalQuery, LogicalRowCheck, LogicalRowUpdate, LogicalStatement, RowQuery as LogicalRowQuery,
    columns_of,
};
use planner::plan::{
    Access, AssignedSubqueries, Assignment, DeletePlan, ExecutionCache, FoundTable, FoundWritePlan,
    InsertMode, InsertPlan, InsertSource, LargerPlan, OuterColumn, Plan, QueryPlan, Rel, Route, RowQuery,
    RowUpdate, UpdatePlan, ViewCheck,
};
use planner::{RowCheck, RowCondition};
use schema::model::IndexPart;
use types::{Error, Result};

use crate::expr::ColumnList;
use crate::physical::builder::{Builder, Built, ONLY, Want};
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
            let row = ids_from(first, update.target.table.table.columns.len());
            let check = view_check(builder, update.check, &row)?;
            Plan::Update(UpdatePlan {
                target: target::build(builder, update.target)?,
                assignments: assignments(update.assignments, first),
                check,
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
    let source = match insert.source {
        LogicalInsertSource::Values(rows) => InsertSource::Values(rows),
        LogicalInsertSource::Literals(values) => InsertSource::Literals(values),
        LogicalInsertSource::Query(query) => InsertSource::Query(Box::new(of_query(builder, *query, false)?)),
        LogicalInsertSource::File(mut file, subqueries) => {
            let row = ids_from(0, insert.table.columns.len());
            let subqueries = subqueries.into_iter();
            let built = subqueries.map(|subqueries| assigned_subqueries(builder, subqueries, &row));
            file.subqueries = built.collect::<Result<_>>()?;
            InsertSource::File(file)
        }
    };
    let row = ids_from(0, insert.table.columns.len());
    Ok(InsertPlan {
        columns: insert.columns,
        given_rows: insert.given_rows,
        source,
        mode: match insert.mode {
            LogicalInsertMode::Insert => InsertMode::Insert,
            LogicalInsertMode::Replace => InsertMode::Replace,
            LogicalInsertMode::Update(update) => {
                InsertMode::Update(row_update(builder, update, insert.table.columns.len())?)
            }
        },
        table: insert.table,
        partitions: insert.partitions,
        check: view_check(builder, insert.check, &row)?,
        ignore: insert.ignore,
        sets_last_id: insert.sets_last_id,
        foreign_keys: insert.foreign_keys,
        execution_cache: ExecutionCache::default(),
    })
}

/// `width`: the number of the table's columns.
fn row_update(builder: &Builder<'_>, update: LogicalRowUpdate, width: usize) -> Result<RowUpdate> {
    // The row's columns: those of the table, twice, and then the query's.
    let mut row = ids_from(0, width * 2);
    row.extend(update.further);
    let subqueries = update
        .subqueries
        .into_iter()
        .map(|subqueries| assigned_subqueries(builder, subqueries, &row));
    Ok(RowUpdate {
        subqueries: subqueries.collect::<Result<_>>()?,
        assignments: assignments(update.assignments, 0),
    })
}

fn ids_from(first: usize, count: usize) -> Vec<ColumnId> {
    (first..first + count).map(ColumnId).collect()
}

/// `row`: the ids of the columns of the row that is checked.
fn view_check(
    builder: &Builder<'_>,
    check: Option<LogicalRowCheck>,
    row: &[ColumnId],
) -> Result<Option<ViewCheck>> {
    let Some(RowCheck { condition, view }) = check else {
        return Ok(None);
    };
    let condition = match condition {
        RowCondition::Row(mut condition) => {
            let position = |id: usize| row.iter().position(|of_row| of_row.0 == id);
            if columns_of(&condition).iter().any(|id| position(id.0).is_none()) {
                return Err(Error::internal("a check of a column that is not there"));
            }
            condition.map_columns(&|id| position(id).unwrap_or_default());
            RowCondition::Row(condition)
        }
        RowCondition::Query(query) => RowCondition::Query(Box::new(row_query(builder, *query, row)?)),
    };
    Ok(Some(RowCheck { condition, view }))
}

fn assigned_subqueries(
    builder: &Builder<'_>,
    subqueries: LogicalAssignedSubqueries,
    row: &[ColumnId],
) -> Result<AssignedSubqueries> {
    Ok(AssignedSubqueries {
        assignment: subqueries.assignment,
        query: row_query(builder, subqueries.query, row)?,
    })
}

/// A query for a row whose columns are outer columns: `row` are their ids.
fn row_query(builder: &Builder<'_>, mut query: LogicalRowQuery, row: &[ColumnId]) -> Result<RowQuery> {
    let named = outer_columns(&query.root);
    let mut outer = Vec::with_capacity(named.len());
    let mut values = Vec::with_capacity(named.len());
    for column in &named {
        let position = row.iter().position(|id| *id == column.id);
        let position =
            position.ok_or_else(|| Error::internal("a subquery takes a column that is not there"))?;
        let slot = builder.new_slot();
        outer.push(OuterColumn { slot, position });
        values.push(Expr::Outer {
            slot,
            ty: column.ty,
            nullable: column.nullable,
        });
    }
    let mut input = &mut query.root;
    loop {
        input = match input {
            Logical::Apply(apply) => &mut apply.input,
            Logical::Project { input, .. } => input,
            _ => break,
        };
    }
    if !named.is_empty() {
        *input = Logical::Values {
            columns: named,
            rows: vec![values],
        };
    }
    Ok(RowQuery {
        root: rows_of_write(builder, query.root, query.columns)?.rel,
        outer,
    })
}

/// What a write reads.
fn rows_of_write(builder: &Builder<'_>, root: Logical, output: Vec<ColumnId>) -> Result<Built> {
    let mut query = LogicalQuery {
        output,
        root,
        columns: Vec::new(),
        limit_of_output: None,
        max_execution: None,
        in_order: true,
    };
    rules::apply_all(&mut query, builder.env)?;
    builder.learn(&query.root);
    builder.route.set(Some(ONLY));
    builder.build_exact(query.root, Want::of(query.output))
}

/// The columns that a query takes of the rows around it.
fn outer_columns(root: &Logical) -> Vec<Column> {
    let ids = root.outer_columns();
    let mut columns: Vec<Column> = Vec::with_capacity(ids.len());
    root.walk(&mut |rel| {
        rel.expressions(&mut |expr| {
            expr.walk(&mut |e| {
                if let Expr::Column {
                    index, ty, nullable, ..
                } = e
                {
                    let id = ColumnId(*index);
                    match columns.iter_mut().find(|column| column.id == id) {
                        Some(column) => column.nullable |= nullable,
                        None if ids.contains(&id) => columns.push(Column {
                            id,
                            ty: *ty,
                            nullable: *nullable,
                        }),
                        None => {}
                    }
                }
            });
        });
    });
    columns
}

fn found_write(builder: &Builder<'_>, write: LogicalFoundWrite) -> Result<FoundWritePlan> {
    let built = rows_of_write(builder, write.root, read_columns(&write.tables))?;
    let layout = &built.layout;
    let is_update = write.tables.iter().any(|found| found.assignments.is_some());
    let tables = write.tables.into_iter();
    let tables = tables.map(|found| found_table(builder, found, layout));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    Ok(FoundWritePlan {
        first_is_seen: first_is_seen(&built.rel, &tables),
        root: built.rel,
        tables,
        ignore: write.ignore,
        is_update,
    })
}

/// Whether MySQL would write the rows of the first table while it finds them, so that the values of the others are
/// computed of the new ones: where that table is read first, once, and by no column that is assigned.
fn first_is_seen(root: &Rel, tables: &[FoundTable]) -> bool {
    let Some((first, others)) = tables.split_first() else {
        return false;
    };
    let mut source = root.source();
    while let Some(left) = source.inputs().first().copied() {
        source = left.source();
    }
    let (Rel::Scan(scan), Some(assignments)) = (source, &first.assignments) else {
        return false;
    };
    let table = &first.table;
    // MySQL reads the rows of constant keys before all others.
    let comes_later = !is_one_row(&scan.access)
        && root
            .scans()
            .into_iter()
            .any(|scan| scan.table.id != table.id && is_one_row(&scan.access));
    if comes_later {
        return false;
    }
    let reads = root.scans().into_iter().filter(|scan| scan.table.id == table.id);
    let assigned: Vec<usize> = assignments.iter().map(|assignment| assignment.column).collect();
    let is_assigned = |parts: &[IndexPart]| parts.iter().any(|part| assigned.contains(&part.column));
    let moves = match &scan.access {
        Access::PrimaryPoints { .. } | Access::UniquePoints { .. } => false,
        Access::Full { .. } | Access::PrimaryRanges { .. } => is_assigned(&table.primary_parts()),
        Access::IndexRanges { index, .. } => table
            .indexes
            .get(*index)
            .is_none_or(|index| is_assigned(&index.parts)),
        Access::GroupEnds { .. } | Access::Union { .. } => true,
    };
    let sees = |found: &FoundTable| {
        let own = found.table.columns.len();
        let values = found.assignments.iter().flatten();
        values
            .filter_map(|assignment| assignment.value.as_ref())
            .any(|value| {
                let mut sees = false;
                value.walk(&mut |expr| {
                    if let Expr::Column { index, .. } = expr {
                        sees |= index
                            .checked_sub(own)
                            .is_some_and(|at| first.columns.contains(&at));
                    }
                });
                sees
            })
    };
    scan.table.id == table.id && reads.count() == 1 && !moves && others.iter().any(sees)
}

/// Whether an access finds one row by a key that no other table's row decides.
fn is_one_row(access: &Access) -> bool {
    let (Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. }) = access else {
        return false;
    };
    let [key] = keys.as_slice() else {
        return false;
    };
    key.iter().all(|value| {
        let mut constant = true;
        value.walk(&mut |expr| constant &= !matches!(expr, Expr::Column { .. } | Expr::Outer { .. }));
        constant
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
        match found.check.as_ref().map(|check| &check.condition) {
            Some(RowCondition::Row(condition)) => columns.add_all(condition),
            Some(RowCondition::Query(query)) => {
                query
                    .root
                    .outer_columns()
                    .into_iter()
                    .for_each(|id| columns.add(id));
            }
            None => {}
        }
    }
    columns.0
}

/// A written table over what is read: the columns of `layout`.
fn found_table(builder: &Builder<'_>, found: LogicalFoundTable, layout: &[ColumnId]) -> Result<FoundTable> {
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
    let own = (0..width).map(|offset| get.id(offset));
    let row: Vec<ColumnId> = own.chain(layout.iter().copied()).collect();
    Ok(FoundTable {
        columns: (0..width)
            .map(|offset| position(get.id(offset)))
            .collect::<Result<_>>()?,
        key: position(get.key())?,
        assignments: found
            .assignments
            .map(|list| list.into_iter().map(assignment).collect()),
        check: view_check(builder, found.check, &row)?,
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
        locking: built.rel.strongest_lock(),
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
