//! Joins in FROM: the names of both sides, the condition, and the operator.

use functions::Expr;
use syntax::ast::{ColumnName, Join as WrittenJoin, JoinCondition, JoinKind as WrittenKind};
use types::{Error, Result, errno};

use super::context::Context;
use super::from_place::{From, FromPlace, filtered};
use super::names::{FROM_CLAUSE, ON_CLAUSE, unknown_column};
use super::relation::Relation;
use super::scope::{ColumnRef, Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::{Binder, filter, hints, resolution};
use crate::logical::{Apply, ApplyKind, Join, JoinKind, Logical};

pub(super) fn joined(
    binder: &Binder<'_>,
    mut left: From,
    mut right: From,
    joined: Joined<'_>,
    place: FromPlace<'_>,
) -> Result<From> {
    let outer = place.outer;
    let (kind, condition) = joined.parts();
    check_aliases(&left.scope, &right.scope)?;
    match kind {
        WrittenKind::Left => right.scope.make_nullable(),
        WrittenKind::Right => left.scope.make_nullable(),
        WrittenKind::Inner | WrittenKind::Straight => {}
    }
    let names = match condition {
        JoinCondition::Using(names) => names.clone(),
        JoinCondition::Natural if kind == WrittenKind::Right => common_names(&right.scope, &left.scope),
        JoinCondition::Natural => common_names(&left.scope, &right.scope),
        JoinCondition::None | JoinCondition::On(_) => Vec::new(),
    };
    let mut conditions = Vec::with_capacity(names.len());
    let mut pairs = Vec::with_capacity(names.len());
    for name in names {
        let pair = (
            column_named(&left.scope, &name)?,
            column_named(&right.scope, &name)?,
        );
        if pairs.contains(&pair) {
            continue;
        }
        let (l, r) = (left.scope.column(pair.0), right.scope.column(pair.1));
        conditions.push(binder.call("=", vec![l, r])?);
        pairs.push(pair);
    }
    if let (Joined::Written(join), false) = (joined, pairs.is_empty()) {
        resolution::note_join(binder, join, &pairs, (&left.scope, &right.scope));
    }
    let merges = matches!(condition, JoinCondition::Using(_) | JoinCondition::Natural);
    let scope = left
        .scope
        .joined(right.scope, merges.then_some(&pairs), kind == WrittenKind::Right);
    let subqueries = Subqueries::default();
    if let JoinCondition::On(on) = condition {
        let names = ScopeNames {
            scope: &scope,
            clause: ON_CLAUSE,
            outer,
            in_aggregate: false,
        };
        let context = Context {
            subqueries: Some(&subqueries),
            outer,
            ..Context::of(&names)
        };
        conditions.push(filter::condition(binder, on, &context)?);
    }
    let condition = filter::all(binder, conditions)?;
    let mut inner = Vec::new();
    if place.for_writing.is_some() && matches!(kind, WrittenKind::Inner | WrittenKind::Straight) {
        inner.append(&mut left.conditions);
        inner.append(&mut right.conditions);
        inner.extend(condition.clone());
    }
    let rel = joined_rows(
        left.rel,
        right.rel,
        JoinOn {
            kind,
            condition,
            subqueries,
            lateral: match kind {
                WrittenKind::Right => left.lateral,
                WrittenKind::Inner | WrittenKind::Left | WrittenKind::Straight => right.lateral,
            },
            straight: kind == WrittenKind::Straight || hints::joins_as_written(binder),
        },
    );
    Ok(From {
        rel,
        scope,
        lateral: left.lateral || right.lateral,
        conditions: inner,
    })
}

/// The syntax between two parts of FROM.
#[derive(Clone, Copy)]
pub(super) enum Joined<'q> {
    /// A comma.
    Listed,
    Written(&'q WrittenJoin),
}

impl<'q> Joined<'q> {
    fn parts(self) -> (WrittenKind, &'q JoinCondition) {
        match self {
            Self::Listed => (WrittenKind::Inner, &JoinCondition::None),
            Self::Written(join) => (join.kind, &join.condition),
        }
    }
}

/// How two parts of FROM are joined.
struct JoinOn {
    kind: WrittenKind,
    condition: Option<Expr>,
    /// Those of the condition.
    subqueries: Subqueries,
    /// The inner part (the right one, of RIGHT JOIN the left one) names columns of the other, or of what is further
    /// left.
    lateral: bool,
    /// The left part is read first.
    straight: bool,
}

fn joined_rows(left: Logical, right: Logical, on: JoinOn) -> Logical {
    let is_left = match on.kind {
        WrittenKind::Right => {
            let on = JoinOn {
                kind: WrittenKind::Left,
                ..on
            };
            return joined_rows(right, left, on);
        }
        WrittenKind::Left => true,
        WrittenKind::Inner | WrittenKind::Straight => false,
    };
    let depends = on.lateral && {
        let outer = right.outer_columns();
        left.output().iter().any(|column| outer.contains(&column.id))
    };
    if depends {
        let right = on.subqueries.applied_to(right);
        return lateral(left, right, is_left, on.condition);
    }
    if on.subqueries.is_empty() {
        return Logical::Join(Join {
            kind: if is_left { JoinKind::Left } else { JoinKind::Inner },
            left: Box::new(left),
            right: Box::new(right),
            condition: on.condition,
            straight: on.straight,
        });
    }
    if is_left {
        // The subqueries of the condition may name columns of both sides.
        let right = filtered(on.subqueries.applied_to(right), on.condition);
        return lateral(left, right, true, None);
    }
    let pairs = Logical::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        condition: None,
        straight: on.kind == WrittenKind::Straight,
    });
    filtered(on.subqueries.applied_to(pairs), on.condition)
}

fn lateral(left: Logical, right: Logical, is_left: bool, condition: Option<Expr>) -> Logical {
    Logical::Apply(Apply {
        kind: ApplyKind::Lateral {
            left: is_left,
            condition,
        },
        input: Box::new(left),
        subquery: Box::new(right),
    })
}

/// The names that both sides have, in the order of the left side.
fn common_names(left: &Scope, right: &Scope) -> Vec<String> {
    let names = |scope: &Scope| -> Vec<String> {
        let all = scope.all().into_iter();
        all.map(|column| scope.relation(column).name(column.position).to_owned())
            .collect()
    };
    let right = names(right);
    let mut common = names(left);
    common.retain(|name| right.iter().any(|other| types::same_name(other, name)));
    common
}
/// The column of one side that USING or NATURAL is about.
fn column_named(scope: &Scope, name: &str) -> Result<ColumnRef> {
    let name = ColumnName {
        database: None,
        table: None,
        column: name.to_owned(),
    };
    let found = scope.find(&name, FROM_CLAUSE)?;
    found.ok_or_else(|| unknown_column(&name, FROM_CLAUSE))
}
/// Error 1066 if both sides have a relation of the same name.
fn check_aliases(left: &Scope, right: &Scope) -> Result<()> {
    let database = |relation: &Relation| relation.definition().map(|table| table.database.clone());
    for relation in &right.relations {
        let same = |other: &&Relation| other.alias == relation.alias && database(other) == database(relation);
        if left.relations.iter().any(|other| same(&other)) {
            return Err(Error::new(
                errno::ER_NONUNIQ_TABLE,
                format!("Not unique table/alias: '{}'", relation.alias),
            ));
        }
    }
    Ok(())
}
