//! A FROM clause or a part of it: its context, and the result of binding it.

use functions::Expr;
use schema::privilege::PrivilegeSet;
use syntax::ast::LockingClause;
use types::{Error, Result, errno};

use super::context::Context;
use super::relation::{Relation, RelationColumn};
use super::scope::Scope;
use crate::errno::{ER_CANT_REOPEN_TABLE, ER_WRONG_COLUMN_LIST};
use crate::logical::Logical;
use crate::object_access::{OneOf, TableNeeds};

/// The context of a FROM clause.
#[derive(Clone, Copy)]
pub struct FromPlace<'a> {
    /// The place of the query, if it is a subquery.
    pub outer: Option<&'a Context<'a>>,
    /// The block's locking clauses.
    pub locking: &'a [LockingClause],
    /// The relations to the left, which LATERAL tables can name.
    pub left: Option<&'a Scope>,
    /// The statement writes to the tables, and needs this of each: rows come with their keys, and the caller notes
    /// the accesses.
    pub for_writing: Option<TableNeeds>,
}

impl FromPlace<'_> {
    /// What the statement needs of a table or view.
    pub fn needs_of(&self, database: &str, alias: &str) -> TableNeeds {
        let locks = self
            .locking
            .iter()
            .any(|clause| clause.exclusive && clause.is_about(database, alias));
        self.for_writing.unwrap_or(TableNeeds {
            all: PrivilegeSet::SELECT,
            one_of: locks.then_some(OneOf::Locks),
        })
    }
}

/// A FROM clause or a part of it.
pub struct From {
    pub rel: Logical,
    pub scope: Scope,
    /// It names columns of the relations to the left.
    pub lateral: bool,
    /// Of the inner joins that are written in it, where the statement writes to the tables.
    pub conditions: Vec<Expr>,
}

impl From {
    /// Rows that are no table's.
    pub fn of_columns(rel: Logical, alias: &str, columns: Vec<RelationColumn>, lateral: bool) -> Self {
        Self {
            lateral,
            ..Self::of(rel, Relation::of_query(columns, alias))
        }
    }

    pub fn of(rel: Logical, relation: Relation) -> Self {
        Self {
            rel,
            scope: Scope::of(relation),
            lateral: false,
            conditions: Vec::new(),
        }
    }
}

/// The rows that satisfy a condition, if there is one.
pub fn filtered(input: Logical, predicate: Option<Expr>) -> Logical {
    match predicate {
        None => input,
        Some(predicate) => Logical::Filter {
            input: Box::new(input),
            predicate,
        },
    }
}

/// Error 1353.
pub fn other_column_count() -> Error {
    Error::new(
        ER_WRONG_COLUMN_LIST,
        "In definition of view, derived table or common table expression, SELECT list and column names list have \
         different column counts",
    )
}

/// The columns of a derived table or common table expression under the names of its list, if it has one.
///
/// # Errors
/// 1060 for two of the same name, 1353 for a list of another length.
pub fn named_columns(mut columns: Vec<RelationColumn>, names: &[String]) -> Result<Vec<RelationColumn>> {
    if !names.is_empty() {
        if names.len() != columns.len() {
            return Err(other_column_count());
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name.clone_from(name);
        }
    }
    for (position, column) in columns.iter().enumerate() {
        let same = |other: &&RelationColumn| types::same_name(&other.name, &column.name);
        if let Some(first) = columns[..position].iter().find(same) {
            return Err(Error::new(
                errno::ER_DUP_FIELDNAME,
                format!(
                    "Duplicate column name '{}'",
                    if names.is_empty() {
                        &column.name
                    } else {
                        &first.name
                    }
                ),
            ));
        }
    }
    Ok(columns)
}
/// Error 1137. `alias`: what the statement has called the temporary table before.
pub fn cannot_reopen(alias: &str) -> Error {
    Error::new(ER_CANT_REOPEN_TABLE, format!("Can't reopen table: '{alias}'"))
}
