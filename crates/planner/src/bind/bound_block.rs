//! A query block whose names are resolved.

use std::cell::RefCell;
use std::collections::BTreeSet;

use functions::Expr;

use super::context::{Aggregates, PendingWindow};
use super::output::Item;
use super::scope::Scope;
use super::subqueries::Subqueries;
use crate::logical::columns_of;
use crate::plan::SortKey;

/// A block whose names are resolved: expressions over the columns of FROM, of aggregates, of windows and of
/// subqueries.
pub struct BoundBlock {
    pub scope: Scope,
    pub items: Vec<Item>,
    /// Whether rows are grouped, perhaps into one group.
    pub grouped: bool,
    pub keys: Vec<Expr>,
    /// WITH ROLLUP: groups of fewer and fewer keys as well.
    pub rollup: bool,
    /// The positions of items, and of the GROUP BY keys that they are, for which an earlier key has the same
    /// value.
    pub key_items: Vec<(usize, usize)>,
    pub aggregates: Aggregates,
    pub windows: RefCell<Vec<PendingWindow>>,
    pub having: Option<Expr>,
    pub order_by: Vec<SortKey>,
    /// WITH ROLLUP: the order in which windows see the groups.
    pub order_of_groups: Vec<SortKey>,
    /// What the keys of `order_by` name.
    pub order_names: Vec<OrderNames>,
    pub distinct: bool,
    /// Subqueries that are evaluated for each row of FROM: in keys and in the arguments of aggregates.
    pub below: Subqueries,
    /// Subqueries that are evaluated for each group, or for each row if there are no groups.
    pub above: Subqueries,
}

/// What a key of ORDER BY names besides columns.
pub struct OrderNames {
    /// Select items, by their aliases.
    pub items: BTreeSet<usize>,
    /// It is `ANY_VALUE(...)`: the value of any row of the group will do.
    pub any_value: bool,
}

impl BoundBlock {
    /// Whether MySQL stores an item in a temporary table before it sends it: with DISTINCT, and what grouped
    /// queries have besides aggregates.
    pub fn is_stored(&self, item: &Item) -> bool {
        self.distinct || !self.keys.is_empty() && !self.refers_to_aggregate(&item.expr)
    }

    /// Whether the block's rows are those of FROM and WHERE, one for one.
    pub fn can_be_merged(&self) -> bool {
        !self.grouped
            && !self.distinct
            && self.windows.borrow().is_empty()
            && !self.scope.relations.is_empty()
    }

    /// Whether an expression is the result of an aggregate, and nothing else.
    pub fn is_aggregate(&self, expr: &Expr) -> bool {
        let is_own = |id: usize| self.aggregates.borrow().iter().any(|(own, _)| own.0 == id);
        match expr {
            Expr::Column { index, .. } => is_own(*index),
            Expr::Call { function, args, .. } if function.name() == "aggregate result" => {
                matches!(args.as_slice(), [Expr::Column { index, .. }] if is_own(*index))
            }
            _ => false,
        }
    }

    pub fn refers_to_aggregate(&self, expr: &Expr) -> bool {
        let aggregates = self.aggregates.borrow();
        columns_of(expr)
            .iter()
            .any(|id| aggregates.iter().any(|(own, _)| own == id))
    }
}

/// Whether an expression has the same value for every row.
pub fn is_constant(expr: &Expr) -> bool {
    expr.is_constant() && functions::is_deterministic(expr)
}
