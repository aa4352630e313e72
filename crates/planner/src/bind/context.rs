//! The context of an expression: which names it may use, and where its aggregates, windows and subqueries are
//! collected.

use std::cell::RefCell;

use functions::aggregate::AggregateCall;
use functions::window::WindowCall;
use types::{Error, SqlType, errno};

use super::names::Names;
use super::subqueries::Subqueries;
use crate::logical::{ColumnId, Window};

/// The aggregate calls of a query block, and the columns of their results.
pub type Aggregates = RefCell<Vec<(ColumnId, AggregateCall)>>;

/// A call whose window is still a part of the block that is being bound.
#[derive(Debug, Clone)]
pub struct PendingWindow {
    pub id: ColumnId,
    pub window: Window,
    pub call: WindowCall,
}

/// The context of an expression.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub names: &'a dyn Names,
    /// Names inside the arguments of aggregates, if those are different.
    pub argument_names: &'a dyn Names,
    /// Takes the aggregate calls; `None` if there may be none.
    pub aggregates: Option<&'a Aggregates>,
    /// The query has groups, so that ANY_VALUE() is an aggregate.
    pub grouped: bool,
    /// Takes the calls of window functions; `None` if there may be none.
    pub windows: Option<&'a RefCell<Vec<PendingWindow>>>,
    /// Takes the subqueries; `None` if there may be none.
    pub subqueries: Option<&'a Subqueries>,
    /// Takes those in the arguments of aggregates.
    pub argument_subqueries: Option<&'a Subqueries>,
    /// The place of the query that this is a part of, if it is a subquery.
    pub outer: Option<&'a Context<'a>>,
    /// Columns with smaller ids are not this query's.
    pub first_own: ColumnId,
    /// The expression is the argument of an aggregate of this query.
    pub is_argument: bool,
    /// The type of the parameters in an expression of nothing else, which its place decides.
    pub parameters: Option<SqlType>,
}

impl<'a> Context<'a> {
    /// Where aggregates are not allowed.
    pub fn of(names: &'a dyn Names) -> Self {
        Self {
            names,
            argument_names: names,
            aggregates: None,
            grouped: false,
            windows: None,
            subqueries: None,
            argument_subqueries: None,
            outer: None,
            first_own: ColumnId(0),
            is_argument: false,
            parameters: None,
        }
    }

    /// The arguments of an aggregate here.
    pub fn inside_aggregate(&self) -> Self {
        Self {
            subqueries: self.argument_subqueries,
            outer: self.outer,
            first_own: self.first_own,
            is_argument: true,
            ..Self::of(self.argument_names)
        }
    }
}

/// Error 1111.
pub fn invalid_group_function() -> Error {
    Error::new(errno::ER_INVALID_GROUP_FUNC_USE, "Invalid use of group function")
}
