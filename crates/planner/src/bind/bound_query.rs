//! A query whose names are resolved, and its place in the statement.

use std::time::Duration;

use functions::Expr;
use functions::coercibility::Strength;
use syntax::ast::{self, LockingClause};
use types::{Error, SqlType, errno};

use super::context::Context;
use super::limit::BoundLimit;
use super::output::Item;
use super::relation::{BaseColumn, RelationColumn};
use super::scope::Scope;
use crate::logical::{ColumnId, CommonTableId, Logical, LogicalQuery, SetOperator};
use crate::plan::{OutputLimit, ResultColumn};

/// How many operands a set operation may have, how many tables WITH, and how many subqueries a clause: each
/// is a level of the plan, and walks over plans recurse.
pub const PARTS_MAX: usize = 3_000;

/// A query whose names are resolved.
pub struct BoundQuery {
    pub root: Logical,
    pub columns: Vec<QueryColumn>,
    /// With SQL_CALC_FOUND_ROWS: the LIMIT, which is not part of `root` then.
    pub limit_of_output: Option<OutputLimit>,
    pub max_execution: Option<Duration>,
    /// See [`LogicalQuery::in_order`].
    pub in_order: bool,
    /// A block that MySQL merges into the query around it: its columns are announced as those of its tables.
    pub is_merged: bool,
    /// Of a lone block without groups: its relations, and its select list.
    pub block: Option<(Scope, Vec<Item>)>,
}

/// A column of a query's rows. Two may have the same id.
#[derive(Debug, Clone)]
pub struct QueryColumn {
    pub id: ColumnId,
    pub ty: SqlType,
    pub nullable: bool,
    /// The column's expression, which decides the coercibility of its collation.
    pub expr: Expr,
    /// It is the result of an aggregate of the query, and nothing else.
    pub is_aggregate: bool,
    /// It is a key of GROUP BY ... WITH ROLLUP, and nothing else.
    pub is_rolled_key: bool,
    pub result: ResultColumn,
}

/// The common table expressions of a WITH.
#[derive(Default)]
pub struct Definitions(pub Vec<(CommonTableId, Logical)>);

impl Definitions {
    /// The rows of `body`, in which the tables are used.
    pub fn around(self, body: Logical) -> Logical {
        let definitions = self.0.into_iter().rev();
        definitions.fold(body, |body, (id, definition)| Logical::With {
            id,
            definition: Box::new(definition),
            body: Box::new(body),
        })
    }
}

/// The place of a query in the statement.
#[derive(Clone, Copy)]
pub struct QueryPlace<'a> {
    /// The place it is a subquery of.
    pub outer: Option<&'a Context<'a>>,
    /// Its rows are sent to a client.
    pub is_statement: bool,
    /// The MAX_EXECUTION_TIME of its first block is the statement's.
    pub limits_time: bool,
    /// It is an operand of a set operation, which takes its rows in any order: without LIMIT, its ORDER BY does nothing.
    pub loses_order: bool,
    /// The locking clauses of the query expression around a block that has none.
    pub locking: &'a [LockingClause],
    /// Only the set of rows matters, not how often each comes or in what order: `x IN (...)`, `EXISTS (...)`.
    pub as_set: bool,
}

impl<'a> QueryPlace<'a> {
    /// A query whose rows another one, or an expression of it, takes.
    pub fn within(outer: Option<&'a Context<'a>>) -> Self {
        Self {
            outer,
            is_statement: false,
            limits_time: false,
            loses_order: false,
            locking: &[],
            as_set: false,
        }
    }
}

impl BoundQuery {
    pub fn into_logical(self) -> LogicalQuery {
        LogicalQuery {
            root: self.root,
            output: self.columns.iter().map(|column| column.id).collect(),
            columns: self.columns.into_iter().map(|column| column.result).collect(),
            limit_of_output: self.limit_of_output,
            max_execution: self.max_execution,
            in_order: self.in_order,
        }
    }

    /// The columns as another query names them.
    pub fn relation_columns(&self) -> Vec<RelationColumn> {
        let column = |(position, column): (usize, &QueryColumn)| {
            let origin = match self.is_merged {
                true => Some(column.result.clone()),
                false => column.result.in_temporary_table().map(|of_table| ResultColumn {
                    is_stored: true,
                    ..of_table
                }),
            };
            let mut of_relation = RelationColumn {
                name: column.result.name.clone(),
                id: column.id,
                ty: column.ty,
                nullable: column.nullable,
                strength: Some(column.strength().in_table()),
                origin: origin.map(Box::new),
                announced: (column.result.ty != column.ty).then_some(column.result.ty),
                is_merged: self.is_merged,
                base: self.base(position),
            };
            if column.result.is_stored {
                of_relation.set_stored(column.ty);
            } else if !self.is_merged && !column.is_aggregate && column.result.original_table.is_empty() {
                of_relation.set_made();
            }
            of_relation
        };
        self.columns.iter().enumerate().map(column).collect()
    }
}

impl BoundQuery {
    /// The table's column that a column is, if the query is merged.
    fn base(&self, position: usize) -> Option<BaseColumn> {
        let (scope, items) = self.block.as_ref().filter(|_| self.is_merged)?;
        let column = items.get(position)?.column?;
        scope.relation(column).base(column.position)
    }
}

impl QueryColumn {
    pub fn column(&self) -> Expr {
        Expr::made_column(self.id.0, self.ty, self.nullable, self.strength())
    }

    pub fn strength(&self) -> Strength {
        functions::bind::strength_of(std::slice::from_ref(&self.expr))
    }
}

/// At most some rows, if the query says so.
pub fn limited(input: Logical, limit: BoundLimit) -> Logical {
    match limit.count {
        None => input,
        count => Logical::Limit {
            input: Box::new(input),
            offset: limit.offset,
            count,
        },
    }
}

/// A literal that was taken out of the text might be a position. The text is bound again with its literals.
pub fn as_it_stands() -> Error {
    Error::internal("ORDER BY: the text has to be bound as it stands")
}

/// Error 1473.
pub fn too_many_parts() -> Error {
    Error::new(1473, "Too high level of nesting for select")
}

/// Error 1222.
pub fn different_widths() -> Error {
    Error::new(
        errno::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
        "The used SELECT statements have a different number of columns",
    )
}

/// The operator of a set operation.
pub fn operator(written: ast::SetOperator) -> SetOperator {
    match written {
        ast::SetOperator::Union => SetOperator::Union,
        ast::SetOperator::Intersect => SetOperator::Intersect,
        ast::SetOperator::Except => SetOperator::Except,
    }
}
