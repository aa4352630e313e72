//! Conditions of inner joins that others imply.

use functions::Expr;
use planner::logical::{ColumnId, Logical};
use types::SqlType;

use crate::access::is_constant;
use crate::expr::{bare_column, equality, into_conjuncts};
use crate::physical::join_keys::under_one_type;

/// Columns that are equal to constants.
pub struct Constants(Vec<(ColumnId, Expr)>);

impl Constants {
    /// Those of the filters of relations, and of other conditions.
    pub fn of<'e>(
        relations: impl Iterator<Item = &'e Logical>,
        conditions: impl Iterator<Item = &'e Expr>,
    ) -> Self {
        let mut known = Vec::new();
        for rel in relations {
            if let Logical::Filter { predicate, .. } = rel {
                let mut conjuncts = Vec::new();
                into_conjuncts(predicate.clone(), &mut conjuncts);
                known.extend(conjuncts.iter().filter_map(constant_of));
            }
        }
        known.extend(conditions.filter_map(constant_of));
        Self(known)
    }

    /// Whether a condition is the equality of two columns that are equal to one constant: each pair of rows satisfies it, so
    /// that neither a key of a join nor a check is of use.
    ///
    /// ```text
    /// a.id = b.id and a.id = 5 and b.id = 5   ->   a.id = 5 and b.id = 5
    /// ```
    pub fn imply(&self, condition: &Expr) -> bool {
        let Some((a, b)) = equality(condition) else {
            return false;
        };
        match (bare_column(a), bare_column(b)) {
            (Some(left), Some(right)) if a.ty() == b.ty() => self
                .of_column(left)
                .any(|one| self.of_column(right).any(|other| one == other)),
            _ => false,
        }
    }

    fn of_column(&self, id: ColumnId) -> impl Iterator<Item = &Expr> {
        self.0
            .iter()
            .filter(move |(column, _)| *column == id)
            .map(|(_, constant)| constant)
    }
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
