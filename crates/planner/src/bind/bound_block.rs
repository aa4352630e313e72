//! A query block whose names are resolved.

use std::cell::RefCell;
use std::collections::BTreeSet;

use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction};
use types::TypeKind;

use super::context::{Aggregates, PendingWindow};
use super::output::Item;
use super::scope::Scope;
use super::subqueries::Subqueries;
use crate::logical::{ColumnId, Window, columns_of};
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
    /// The windows of the clause WINDOW, used or not.
    pub named_windows: Vec<(String, Window)>,
    pub having: Option<Expr>,
    pub order_by: Vec<SortKey>,
    /// The order in which windows see the rows, or the groups of WITH ROLLUP.
    pub order_before_windows: Vec<SortKey>,
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

    /// Whether MySQL computes an item into a temporary table, whose types a client sees. A sorted table needs none to
    /// be grouped WITH ROLLUP.
    pub fn is_announced_as_stored(&self, item: &Item) -> bool {
        self.is_computed_into_table(item) && !self.is_of_groups(&item.expr)
    }

    /// The same for documents, which aggregates and windows make, too.
    pub fn is_stored_document(&self, item: &Item) -> bool {
        let is_document = item.expr.ty().kind == TypeKind::Json && self.is_computed_into_table(item);
        is_document && (!self.windows.borrow().is_empty() || !self.is_of_groups(&item.expr))
    }

    fn is_computed_into_table(&self, item: &Item) -> bool {
        let is_rolled_as_it_comes =
            self.rollup && self.order_by.is_empty() && self.scope.relations.len() == 1 && !self.distinct;
        let has_windows = !self.windows.borrow().is_empty();
        let has_table = has_windows || self.distinct || !self.keys.is_empty() && !is_rolled_as_it_comes;
        let is_key = self.rollup && self.keys.contains(&item.expr);
        let is_bare = matches!(item.expr, Expr::Column { index, .. } if self.scope.owns(ColumnId(index)));
        let is_column = (item.column.is_some() || is_bare) && !is_key;
        has_table && !is_column && !self.is_constant_of_block(&item.expr)
    }

    /// Whether an expression is made of literals and of subqueries that are the same for all rows.
    fn is_constant_of_block(&self, expr: &Expr) -> bool {
        let is_same = |id: &ColumnId| {
            let subqueries = [&self.above, &self.below];
            subqueries.iter().any(|all| all.is_constant(*id))
        };
        columns_of(expr).iter().all(is_same) && functions::is_deterministic(expr)
    }

    /// Whether an expression names an aggregate or a window. ANY_VALUE() is a function for MySQL.
    fn is_of_groups(&self, expr: &Expr) -> bool {
        let mut columns = columns_of(expr);
        let in_subqueries = columns.iter().flat_map(|id| self.above.outer_columns_of(*id));
        let in_subqueries: Vec<ColumnId> = in_subqueries.collect();
        columns.extend(in_subqueries);
        let (aggregates, windows) = (self.aggregates.borrow(), self.windows.borrow());
        let is_aggregate = |(id, call): &(ColumnId, AggregateCall)| {
            columns.contains(id) && call.function != AggregateFunction::AnyValue
        };
        aggregates.iter().any(is_aggregate) || windows.iter().any(|window| columns.contains(&window.id))
    }

    /// Whether the block's rows are those of FROM and WHERE, one for one.
    pub fn can_be_merged(&self) -> bool {
        !self.grouped
            && !self.distinct
            && self.windows.borrow().is_empty()
            && !self.scope.relations.is_empty()
    }

    /// Whether MySQL sorts the rows before the windows see them: where no window sorts, and ORDER BY needs no window and
    /// no aggregate. So `ROW_NUMBER() OVER ()` numbers the rows as they are shown. Windows to which the order makes no
    /// difference do not ask for it: a sort above them may keep the first rows only. Groups come in an order of their own.
    pub fn windows_see_order(&self) -> bool {
        let windows = self.windows.borrow();
        let sorts = |pending: &PendingWindow| {
            !pending.window.partition_by.is_empty() || !pending.window.order_by.is_empty()
        };
        let is_made_before = |key: &SortKey| {
            let columns = columns_of(&key.expr);
            functions::is_deterministic(&key.expr)
                && !self.refers_to_aggregate(&key.expr)
                && !windows.iter().any(|window| columns.contains(&window.id))
        };
        !self.grouped
            && !self.distinct
            && !windows.iter().any(sorts)
            && windows
                .iter()
                .any(|pending| pending.call.depends_on_peers(&pending.window.frame))
            && self.order_by.iter().all(is_made_before)
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
