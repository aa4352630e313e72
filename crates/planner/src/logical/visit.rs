//! Walks over the logical algebra: one over operators, one over the expressions of an operator.

use std::collections::{BTreeSet, HashMap};

use functions::Expr;
use types::Result;

use super::{
    ApplyKind, Column, ColumnId, CommonTableId, Join, JoinKind, Logical, LogicalAssignment,
    LogicalInsertMode, LogicalInsertSource, LogicalRowCheck, LogicalStatement, LogicalTarget,
};
use crate::row_check::{RowCheck, RowCondition};

impl Logical {
    /// The operators right below, in the order of their rows. A With's definition comes before its body, an
    /// Apply's subquery after its input.
    pub fn inputs(&self) -> Vec<&Self> {
        match self {
            Self::OneRow
            | Self::Get(_)
            | Self::Values { .. }
            | Self::TableFunction(_)
            | Self::CommonTable(_) => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input } => vec![input],
            Self::Join(join) => vec![&join.left, &join.right],
            Self::Apply(apply) => vec![&apply.input, &apply.subquery],
            Self::SetOperation(operation) => vec![&operation.left, &operation.right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive(recursive) => vec![&recursive.seed, &recursive.step],
        }
    }

    pub fn inputs_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::OneRow
            | Self::Get(_)
            | Self::Values { .. }
            | Self::TableFunction(_)
            | Self::CommonTable(_) => Vec::new(),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Aggregate { input, .. }
            | Self::Window { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input } => vec![input],
            Self::Join(join) => vec![&mut join.left, &mut join.right],
            Self::Apply(apply) => vec![&mut apply.input, &mut apply.subquery],
            Self::SetOperation(operation) => vec![&mut operation.left, &mut operation.right],
            Self::With { definition, body, .. } => vec![definition, body],
            Self::Recursive(recursive) => vec![&mut recursive.seed, &mut recursive.step],
        }
    }

    /// Calls `visit` with each expression of this operator alone.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Self::OneRow
            | Self::Distinct { .. }
            | Self::SetOperation(_)
            | Self::With { .. }
            | Self::Recursive(_)
            | Self::CommonTable(_) => {}
            Self::Get(get) => get.as_of.iter().for_each(visit),
            Self::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Self::TableFunction(function) => visit(&function.document),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { columns, .. } => columns.iter().for_each(|(_, expr)| visit(expr)),
            Self::Join(join) => join.condition.iter().for_each(visit),
            Self::Apply(apply) => match &apply.kind {
                ApplyKind::Scalar { .. } | ApplyKind::Exists { .. } => {}
                ApplyKind::Any { condition, .. } => visit(condition),
                ApplyKind::Lateral { condition, .. } => condition.iter().for_each(visit),
            },
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter().for_each(|(_, key)| visit(key));
                aggregates.iter().for_each(|(_, call)| call.expressions(visit));
            }
            Self::Window { window, calls, .. } => {
                window.partition_by.iter().for_each(&mut *visit);
                window.order_by.iter().for_each(|key| visit(&key.expr));
                window.frame.expressions(visit);
                calls.iter().for_each(|(_, call)| call.expressions(visit));
            }
            Self::Sort { keys, .. } => keys.iter().for_each(|key| visit(&key.expr)),
            Self::Limit { offset, count, .. } => offset.iter().chain(count).for_each(visit),
        }
    }

    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::OneRow
            | Self::Distinct { .. }
            | Self::SetOperation(_)
            | Self::With { .. }
            | Self::Recursive(_)
            | Self::CommonTable(_) => {}
            Self::Get(get) => get.as_of.iter_mut().for_each(visit),
            Self::Values { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Self::TableFunction(function) => visit(&mut function.document),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { columns, .. } => columns.iter_mut().for_each(|(_, expr)| visit(expr)),
            Self::Join(join) => join.condition.iter_mut().for_each(visit),
            Self::Apply(apply) => match &mut apply.kind {
                ApplyKind::Scalar { .. } | ApplyKind::Exists { .. } => {}
                ApplyKind::Any { condition, .. } => visit(condition),
                ApplyKind::Lateral { condition, .. } => condition.iter_mut().for_each(visit),
            },
            Self::Aggregate { keys, aggregates, .. } => {
                keys.iter_mut().for_each(|(_, key)| visit(key));
                aggregates
                    .iter_mut()
                    .for_each(|(_, call)| call.expressions_mut(visit));
            }
            Self::Window { window, calls, .. } => {
                window.partition_by.iter_mut().for_each(&mut *visit);
                window.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
                window.frame.expressions_mut(visit);
                calls.iter_mut().for_each(|(_, call)| call.expressions_mut(visit));
            }
            Self::Sort { keys, .. } => keys.iter_mut().for_each(|key| visit(&mut key.expr)),
            Self::Limit { offset, count, .. } => offset.iter_mut().chain(count).for_each(visit),
        }
    }

    /// Calls `visit` with this operator and all below it, subqueries and definitions included, outermost
    /// first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        for input in self.inputs() {
            input.walk(visit);
        }
    }

    /// Rewrites every expression of this operator and all below it.
    pub fn rewrite(&mut self, map: &mut dyn FnMut(&Expr) -> Result<Expr>) -> Result<()> {
        let mut result = Ok(());
        self.expressions_mut(&mut |expr| {
            if result.is_ok() {
                match map(expr) {
                    Ok(mapped) => *expr = mapped,
                    Err(error) => result = Err(error),
                }
            }
        });
        result?;
        self.inputs_mut()
            .into_iter()
            .try_for_each(|input| input.rewrite(map))
    }

    /// The columns of the output, in order.
    pub fn output(&self) -> Vec<Column> {
        let of = |id: ColumnId, expr: &Expr| Column {
            id,
            ty: expr.ty(),
            nullable: expr.nullable(),
        };
        match self {
            Self::OneRow => Vec::new(),
            Self::Get(get) => {
                let columns = get.table.columns.iter().enumerate();
                let column = columns.map(|(offset, column)| Column {
                    id: get.id(offset),
                    ty: column.ty,
                    nullable: column.nullable,
                });
                let key = get.with_key.then(|| Column {
                    id: get.key(),
                    ty: crate::plan::ROW_KEY,
                    nullable: false,
                });
                column.chain(key).collect()
            }
            Self::Values { columns, .. } => columns.clone(),
            Self::TableFunction(function) => function.columns.clone(),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Distinct { input } => input.output(),
            Self::Project { columns, .. } => columns.iter().map(|(id, expr)| of(*id, expr)).collect(),
            Self::Join(Join {
                kind, left, right, ..
            }) => {
                let mut columns = left.output();
                match kind {
                    JoinKind::Inner => columns.extend(right.output()),
                    JoinKind::Left => columns.extend(right.output().into_iter().map(Column::or_null)),
                    JoinKind::Semi | JoinKind::Anti => {}
                }
                columns
            }
            Self::Apply(apply) => {
                let mut columns = apply.input.output();
                match &apply.kind {
                    ApplyKind::Scalar { columns: own } => {
                        let values = apply.subquery.output().into_iter();
                        columns.extend(values.filter(|c| own.contains(&c.id)).map(Column::or_null));
                    }
                    ApplyKind::Exists { mark } => columns.push(Column::mark(*mark, false)),
                    ApplyKind::Any { mark, .. } => columns.push(Column::mark(*mark, true)),
                    ApplyKind::Lateral { left, .. } => {
                        let rows = apply.subquery.output().into_iter();
                        columns.extend(rows.map(|c| if *left { c.or_null() } else { c }));
                    }
                }
                columns
            }
            Self::Aggregate {
                keys,
                aggregates,
                rollup,
                ..
            } => {
                let keys = keys.iter().map(|(id, key)| Column {
                    nullable: key.nullable() || rollup.is_some(),
                    ..of(*id, key)
                });
                let left_out = rollup.iter().map(|id| Column::mark(*id, false));
                let results = aggregates.iter().map(|(id, call)| Column {
                    id: *id,
                    ty: call.ty,
                    nullable: call.nullable(),
                });
                keys.chain(left_out).chain(results).collect()
            }
            Self::Window { input, calls, .. } => {
                let mut columns = input.output();
                columns.extend(calls.iter().map(|(id, call)| Column {
                    id: *id,
                    ty: call.ty,
                    nullable: call.nullable,
                }));
                columns
            }
            Self::SetOperation(operation) => operation.columns.iter().map(|c| c.column.clone()).collect(),
            Self::With { body, .. } => body.output(),
            Self::Recursive(recursive) => recursive.columns.iter().map(|c| c.column.clone()).collect(),
            Self::CommonTable(table) => table.columns.clone(),
        }
    }

    /// The columns that expressions in here name and that nothing in here makes: those of the rows that this
    /// is a subquery for.
    pub fn outer_columns(&self) -> BTreeSet<ColumnId> {
        let mut named = BTreeSet::new();
        let mut made = BTreeSet::new();
        self.walk(&mut |rel| {
            rel.expressions(&mut |expr| named.extend(columns_of(expr)));
            made.extend(rel.output().into_iter().map(|column| column.id));
        });
        &named - &made
    }
}

impl Column {
    /// The column, if its row may be missing.
    pub fn or_null(self) -> Self {
        Self {
            nullable: true,
            ..self
        }
    }

    pub fn mark(id: ColumnId, nullable: bool) -> Self {
        Self {
            id,
            ty: types::SqlType::BOOL,
            nullable,
        }
    }

    /// An expression that is this column.
    pub fn expr(&self) -> Expr {
        Expr::column(self.id.0, self.ty, self.nullable)
    }
}

impl LogicalStatement {
    /// Calls `visit` with each column that the statement names: in an expression, a result, a set operation,
    /// or as what a subquery gives. Where it only serves to compute a column of a projection, that one comes
    /// first.
    pub fn walk_columns(&self, visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
        match self {
            Self::Query(query) => {
                query.output.iter().for_each(|id| visit(None, *id));
                query.root.walk_columns(visit);
            }
            Self::Insert(insert) => {
                match &insert.source {
                    LogicalInsertSource::Values(rows) => {
                        let values = rows.iter().flatten().flatten();
                        values.for_each(|value| walk_columns_of(None, value, visit));
                    }
                    LogicalInsertSource::Literals(_) => {}
                    LogicalInsertSource::Query(query) => {
                        query.output.iter().for_each(|id| visit(None, *id));
                        query.root.walk_columns(visit);
                    }
                    LogicalInsertSource::File(file, subqueries) => {
                        let values = file.assignments.iter().filter_map(|a| a.value.as_ref());
                        values.for_each(|value| walk_columns_of(None, value, visit));
                        let subqueries = subqueries.iter();
                        subqueries.for_each(|subqueries| subqueries.query.root.walk_columns(visit));
                    }
                }
                walk_check(insert.check.as_ref(), visit);
                if let LogicalInsertMode::Update(update) = &insert.mode {
                    walk_assignments(&update.assignments, visit);
                    let subqueries = update.subqueries.iter();
                    subqueries.for_each(|subqueries| subqueries.query.root.walk_columns(visit));
                }
            }
            Self::Update(update) => {
                update.target.walk_columns(visit);
                walk_assignments(&update.assignments, visit);
            }
            Self::Delete(delete) => delete.target.walk_columns(visit),
            Self::FoundWrite(write) => {
                write.root.walk_columns(visit);
                let assignments = write.tables.iter().filter_map(|table| table.assignments.as_ref());
                assignments.for_each(|assignments| walk_assignments(assignments, visit));
                let checks = write.tables.iter().map(|table| table.check.as_ref());
                checks.for_each(|check| walk_check(check, visit));
            }
        }
    }
}

impl LogicalTarget {
    fn walk_columns(&self, visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
        let keys = self.order_by.iter().map(|key| &key.expr);
        let exprs = self.filter.iter().chain(keys).chain(&self.limit);
        exprs.for_each(|expr| walk_columns_of(None, expr, visit));
    }
}

impl Logical {
    fn walk_columns(&self, visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
        // The columns of common table expressions: each use has ids of its own.
        let mut defined: HashMap<CommonTableId, Vec<ColumnId>> = HashMap::new();
        self.walk(&mut |operator| {
            if let Self::Project { columns, .. } = operator {
                for (id, expr) in columns {
                    walk_columns_of(Some(*id), expr, visit);
                }
                return;
            }
            operator.expressions(&mut |expr| walk_columns_of(None, expr, visit));
            match operator {
                Self::SetOperation(operation) => {
                    operation.columns.iter().for_each(|column| {
                        visit(None, column.left);
                        visit(None, column.right);
                    });
                }
                Self::Recursive(recursive) => recursive.columns.iter().for_each(|column| {
                    visit(None, column.left);
                    visit(None, column.right);
                }),
                Self::Apply(apply) => {
                    if let ApplyKind::Scalar { columns } = &apply.kind {
                        columns.iter().for_each(|id| visit(None, *id));
                    }
                }
                Self::With { id, definition, .. } => {
                    let columns = definition.output().iter().map(|column| column.id).collect();
                    defined.insert(*id, columns);
                }
                Self::CommonTable(table) => {
                    let definition = defined.get(&table.id).into_iter().flatten();
                    for (used, of_definition) in table.columns.iter().zip(definition) {
                        visit(Some(used.id), *of_definition);
                    }
                }
                _ => {}
            }
        });
    }
}

/// What the subqueries of a check name.
fn walk_check(check: Option<&LogicalRowCheck>, visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
    if let Some(RowCheck {
        condition: RowCondition::Query(query),
        ..
    }) = check
    {
        query.columns.iter().for_each(|id| visit(None, *id));
        query.root.walk_columns(visit);
    }
}

fn walk_assignments(assignments: &[LogicalAssignment], visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
    let values = assignments
        .iter()
        .filter_map(|assignment| assignment.value.as_ref());
    values.for_each(|value| walk_columns_of(None, value, visit));
}

fn walk_columns_of(of: Option<ColumnId>, expr: &Expr, visit: &mut dyn FnMut(Option<ColumnId>, ColumnId)) {
    expr.walk(&mut |e| {
        if let Expr::Column { index, .. } = e {
            visit(of, ColumnId(*index));
        }
    });
}

/// The columns that an expression names.
pub fn columns_of(expr: &Expr) -> BTreeSet<ColumnId> {
    let mut columns = BTreeSet::new();
    expr.walk(&mut |e| {
        if let Expr::Column { index, .. } = e {
            columns.insert(ColumnId(*index));
        }
    });
    columns
}
