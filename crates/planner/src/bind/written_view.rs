//! Views that a statement writes through: they are merged into the statement, which so gets the rows of their
//! tables with the rows' keys.
//!
//! Source: manual 23.5.3, "Updatable and Insertable Views", and MySQL 8.0.33's answers.

use functions::{Expr, bind};
use schema::view::{CheckOption, View, ViewAlgorithm};
use std::cell::RefCell;
use syntax::ast::{self, Query, SelectItem};
use types::Result;

use super::block::Block;
use super::context::Context;
use super::from_place::{FromPlace, filtered};
use super::names::{FIELD_LIST, WHERE_CLAUSE};
use super::output::Item;
use super::relation::{CollatedColumn, Relation, RelationColumn, ViewTable, WrittenView};
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::{Binder, filter, output, read_and_written};
use crate::logical::{ApplyKind, ColumnId, Logical};
use crate::object_access::TableNeeds;

/// The rows of a view with the keys of its tables, and its columns: those of its tables under their own ids.
/// `None` if the view is not merged.
pub(super) fn bind_written_view(
    binder: &Binder<'_>,
    view: &View,
    query: &Query,
) -> Result<Option<(Logical, Vec<RelationColumn>, WrittenView)>> {
    let Some(block) = merged_block(view.algorithm, query).filter(|_| query.with.is_none()) else {
        return Ok(None);
    };
    let from = binder.from(
        &block.from,
        FromPlace {
            outer: None,
            locking: &[],
            left: None,
            for_writing: Some(TableNeeds::default()),
        },
    )?;
    let scope = &from.scope;
    let (in_where, in_items) = (Subqueries::default(), Subqueries::default());
    let filter = {
        let names = names_of(scope, WHERE_CLAUSE);
        let context = Context {
            subqueries: Some(&in_where),
            ..Context::of(&names)
        };
        filter::bind_filter(binder, block.filter.as_ref(), &context, scope)?
    };
    // What the select list reads does not count, as in MySQL.
    let read_by_subqueries = read_and_written::read_so_far(binder);
    let names = names_of(scope, FIELD_LIST);
    let context = Context {
        subqueries: Some(&in_items),
        ..Context::of(&names)
    };
    let items = RefCell::default();
    output::bind_items(binder, &block.items, scope, &context, &items)?;
    let items = items.into_inner();
    let mut conditions = from.conditions;
    conditions.extend(filter.clone());
    let mut written = tables_of(binder, view, scope, conditions)?;
    written.read_by_subqueries = read_by_subqueries;
    let rel = filtered(in_where.applied_to(from.rel), filter);
    if !written.checks.is_empty() {
        add_subqueries(&rel, &mut written.subqueries);
    }
    let (rel, columns) = with_computed(binder, in_items.applied_to(rel), &items, scope);
    let computed = items
        .iter()
        .zip(&columns)
        .filter(|(item, _)| item.column.is_none());
    for (item, column) in computed {
        match collated_column(&item.expr).filter(|of| written.table_of(*of).is_some()) {
            Some(of) => written.collated.push(CollatedColumn {
                id: column.id,
                written: written.written_as(of),
                expr: written.over_tables(&item.expr)?,
            }),
            None => written.computed.push(column.id),
        }
    }
    Ok(Some((rel, columns, written)))
}

/// The column of `column COLLATE x`.
pub fn collated_column(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Column { index, .. } => Some(ColumnId(*index)),
        Expr::Call { function, args, .. } if function.name() == "collate" => collated_column(args.first()?),
        _ => None,
    }
}

/// `conditions`: those of WHERE and of the joins.
fn tables_of(binder: &Binder<'_>, view: &View, scope: &Scope, conditions: Vec<Expr>) -> Result<WrittenView> {
    let mut all = WrittenView::default();
    for relation in &scope.relations {
        let below = relation.view.as_ref().and_then(|view| view.written.as_ref());
        if let Some(below) = below {
            let nullable = |table: &ViewTable| ViewTable {
                relation: Relation {
                    or_null: table.relation.or_null || relation.or_null,
                    ..table.relation.clone()
                },
                ..table.clone()
            };
            all.tables.extend(below.tables.iter().map(nullable));
            all.filters.extend(below.filters.iter().cloned());
            all.checks.extend(below.checks.iter().cloned());
            all.computed.extend(&below.computed);
            all.collated.extend(below.collated.iter().cloned());
            all.others += below.others;
        } else if relation.table().is_some() {
            all.tables.push(ViewTable {
                relation: relation.clone(),
                through: binder.accesses.through().cloned(),
            });
        } else {
            all.others += 1;
        }
    }
    let conditions = conditions.iter().map(|condition| all.over_tables(condition));
    let conditions = conditions.collect::<Result<Vec<_>>>()?;
    all.filters.extend(conditions.iter().cloned());
    match view.check_option {
        Some(CheckOption::Cascaded) => all.checks.clone_from(&all.filters),
        Some(CheckOption::Local) => all.checks.extend(conditions),
        None => {}
    }
    Ok(all)
}

/// The subqueries of the conditions of `rel`, in the order in which they run.
fn add_subqueries(rel: &Logical, subqueries: &mut Vec<(ApplyKind, Logical)>) {
    match rel {
        Logical::Apply(apply) => {
            add_subqueries(&apply.input, subqueries);
            if !apply.kind.columns().is_empty() {
                subqueries.push((apply.kind.clone(), (*apply.subquery).clone()));
            }
        }
        _ => rel
            .inputs()
            .into_iter()
            .for_each(|input| add_subqueries(input, subqueries)),
    }
}

/// The rows with the columns of the select list that are expressions.
fn with_computed(
    binder: &Binder<'_>,
    rel: Logical,
    items: &[Item],
    scope: &Scope,
) -> (Logical, Vec<RelationColumn>) {
    let mut computed = Vec::new();
    let mut columns = Vec::with_capacity(items.len());
    for item in items {
        let id = match item.column {
            Some(column) => scope.relation(column).id(column.position),
            None => {
                let id = binder.new_column();
                computed.push((id, item.expr.clone()));
                id
            }
        };
        columns.push(RelationColumn {
            name: item.name.clone(),
            id,
            ty: item.expr.ty(),
            nullable: item.expr.nullable(),
            strength: Some(bind::strength_of(std::slice::from_ref(&item.expr))),
            origin: None,
            announced: None,
            is_merged: true,
            base: item
                .column
                .and_then(|column| scope.relation(column).base(column.position)),
        });
    }
    if computed.is_empty() {
        return (rel, columns);
    }
    let below = rel.output().into_iter();
    let all = below.map(|column| {
        let expr = Expr::column(column.id.0, column.ty, column.nullable);
        (column.id, expr)
    });
    let rel = Logical::Project {
        columns: all.chain(computed).collect(),
        input: Box::new(rel),
    };
    (rel, columns)
}

/// The block of a view whose rows are rows of its tables.
pub fn merged_block(algorithm: ViewAlgorithm, query: &Query) -> Option<Block<'_>> {
    let block = Block::of(query).filter(|_| algorithm != ViewAlgorithm::TempTable)?;
    let is_plain = |item: &SelectItem| match item {
        SelectItem::Expr { expr, .. } => !expr.has_aggregate() && !expr.has_window(),
        SelectItem::All | SelectItem::AllOf(_) => true,
    };
    let rows_of_tables = block.values.is_none()
        && !block.from.is_empty()
        && !block.distinct
        && block.group_by.is_empty()
        && block.having.is_none()
        && block.limit.is_none()
        && !block.counts_all_rows
        && block.items.iter().all(is_plain)
        && !block.order_by.iter().any(|item| item.expr.has_aggregate());
    rows_of_tables.then_some(block)
}

/// Whether a table reference is an outer join, or has one in it.
pub fn has_outer_join(table: &ast::TableRef) -> bool {
    match table {
        ast::TableRef::Table(_) | ast::TableRef::Derived(_) | ast::TableRef::Json(_) => false,
        ast::TableRef::Nested(tables) => tables.iter().any(has_outer_join),
        ast::TableRef::Join(join) => {
            matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right)
                || has_outer_join(&join.left)
                || has_outer_join(&join.right)
        }
    }
}

fn names_of<'a>(scope: &'a Scope, clause: &'static str) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: None,
        in_aggregate: false,
    }
}
