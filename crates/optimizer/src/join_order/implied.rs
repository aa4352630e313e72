//! Conditions of inner joins that others imply.

use functions::Expr;
use planner::logical::{ColumnId, Logical};
use types::SqlType;

use super::graph::{Condition, Set};
use crate::access::is_constant;
use crate::expr::{bare_column, equality, into_conjuncts};
use crate::physical::join_keys::under_one_type;

/// Leaves out equalities of two columns that are both equal to one constant: each pair of rows satisfies them, so that
/// neither a key of a join nor a check is of use.
///
/// ```text
/// a.id = b.id and a.id = 5 and b.id = 5   ->   a.id = 5 and b.id = 5
/// ```
///
/// `relations`: each with what must be joined before its columns can be named.
pub fn drop_implied<'l>(
    conditions: &mut Vec<Condition>,
    relations: impl Iterator<Item = (&'l Logical, Set)>,
) {
    let mut known = Vec::new();
    for (rel, requires) in relations {
        // An outer join may have replaced the row by NULLs.
        if let Logical::Filter { predicate, .. } = rel
            && requires.is_power_of_two()
        {
            let mut conjuncts = Vec::new();
            into_conjuncts(predicate.clone(), &mut conjuncts);
            known.extend(conjuncts.iter().filter_map(constant_of));
        }
    }
    known.extend(
        conditions
            .iter()
            .filter_map(|condition| constant_of(&condition.expr)),
    );
    let constants = |id: ColumnId| known.iter().filter(move |(column, _)| *column == id);
    conditions.retain(|condition| {
        let Some((a, b)) = equality(&condition.expr) else {
            return true;
        };
        match (bare_column(a), bare_column(b)) {
            (Some(left), Some(right)) if a.ty() == b.ty() => {
                !constants(left).any(|(_, one)| constants(right).any(|(_, other)| one == other))
            }
            _ => true,
        }
    });
}

/// A column that is equal to a constant, and this.
fn constant_of(condition: &Expr) -> Option<(ColumnId, Expr)> {
    let (a, b) = equality(condition)?;
    let (id, column, constant) = match (bare_column(a), bare_column(b)) {
        (Some(id), None) => (id, a, b),
        (None, Some(id)) => (id, b, a),
        _ => return None,
    };
    let is_given = is_constant(constant)
        && is_transitive(&column.ty(), &constant.ty())
        && under_one_type(column.clone(), constant.clone()).is_some();
    is_given.then(|| (id, constant.clone()))
}

/// Whether values of a type that are equal to one constant are equal to each other: two exact numbers may be equal to one
/// approximate number.
fn is_transitive(column: &SqlType, constant: &SqlType) -> bool {
    column.is_float() || !constant.is_float()
}
