//! What a name can mean at its place: [`Names`], and the errors for unknown and ambiguous names.

use functions::Expr;
use syntax::ast::ColumnName;
use types::{Error, Result, SqlType, errno};

use super::Binder;
use super::relation::Relation;

/// Resolves the names of one place in a statement.
pub trait Names {
    fn column(&self, name: &ColumnName) -> Result<Expr>;

    /// A name in a subquery that no query between the subquery and this place can resolve.
    fn named_within(&self, name: &ColumnName, _: Within) -> Result<Expr> {
        self.column(name)
    }

    /// The column that `DEFAULT(column)` is about.
    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        Err(unknown_column(name, FIELD_LIST))
    }

    /// `DEFAULT(column)` where the columns are those of a definition; `None` elsewhere.
    fn default_in_definition(&self, _: &Binder<'_>, _: &ColumnName) -> Option<Result<Expr>> {
        None
    }

    /// `VALUES(column)`.
    fn values(&self, name: &ColumnName) -> Result<Expr>;
}

/// The place of a name in the subquery that it stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// HAVING, which alone may name an aggregate of a query around by its alias.
    Having,
    /// The argument of an aggregate where the subquery may have some of its own.
    Argument,
    Elsewhere,
}

pub const FIELD_LIST: &str = "field list";
pub const ON_CLAUSE: &str = "on clause";
pub const FROM_CLAUSE: &str = "from clause";
pub const WHERE_CLAUSE: &str = "where clause";
pub const HAVING_CLAUSE: &str = "having clause";
pub const ORDER_CLAUSE: &str = "order clause";
pub const GROUP_STATEMENT: &str = "group statement";
/// The left operand of IN, ANY and ALL.
pub const SUBQUERY_OPERAND: &str = "IN/ALL/ANY subquery";

/// The names of a place as a subquery in it without FROM sees them: `(SELECT x)`.
pub struct FromWithin<'a>(pub &'a dyn Names);

/// The same names in another clause, which error 1054 shows.
pub struct InClause<'a> {
    pub names: &'a dyn Names,
    pub clause: &'static str,
}

/// The columns of a SHOW statement's output.
pub struct ListNames<'a> {
    pub columns: &'a [(String, SqlType)],
}

impl Names for FromWithin<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.named_within(name, Within::Elsewhere)
    }

    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        let meant = self.0.named_within(name, within);
        meant.map_err(|error| match error.code {
            errno::ER_BAD_FIELD_ERROR => unknown_column(name, FIELD_LIST),
            _ => error,
        })
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.0.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.0.values(name)
    }
}

impl Names for InClause<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        self.names.column(name).map_err(|error| match error.code {
            errno::ER_BAD_FIELD_ERROR => unknown_column(name, self.clause),
            _ => error,
        })
    }

    fn named_within(&self, name: &ColumnName, within: Within) -> Result<Expr> {
        self.names.named_within(name, within)
    }

    fn defaulted<'s>(&'s self, name: &ColumnName) -> Result<(&'s Relation, usize)> {
        self.names.defaulted(name)
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        self.names.values(name)
    }
}

impl Names for ListNames<'_> {
    fn column(&self, name: &ColumnName) -> Result<Expr> {
        let found = self
            .columns
            .iter()
            .position(|(c, _)| types::same_name(c, &name.column));
        match found {
            Some(index) if name.table.is_none() => Ok(Expr::column(index, self.columns[index].1, true)),
            _ => Err(unknown_column(name, WHERE_CLAUSE)),
        }
    }

    fn values(&self, name: &ColumnName) -> Result<Expr> {
        Err(unknown_column(name, WHERE_CLAUSE))
    }
}

/// Error 1054.
pub fn unknown_column(name: &ColumnName, clause: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{}' in '{clause}'", full_name(name)),
    )
}

/// The same in a query without tables: error 1109 for a name qualified with a table.
pub fn unknown_without_tables(name: &ColumnName, clause: &str) -> Error {
    let Some(table) = &name.table else {
        return unknown_column(name, clause);
    };
    let table = match &name.database {
        Some(database) => format!("{database}.{table}"),
        None => table.clone(),
    };
    Error::new(
        errno::ER_UNKNOWN_TABLE,
        format!("Unknown table '{table}' in {clause}"),
    )
}

/// Error 1054 about a number in GROUP BY or ORDER BY that is the place of no select item.
pub fn unknown_place(digits: &str, clause: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{digits}' in '{clause}'"),
    )
}

/// Whether an error of a query around says that it does not have a name; 1109 is that of a query without tables.
pub fn is_unknown(error: &Error) -> bool {
    matches!(error.code, errno::ER_BAD_FIELD_ERROR | errno::ER_UNKNOWN_TABLE)
}

/// Error 1052.
pub fn ambiguous_column(name: &str, clause: &str) -> Error {
    Error::new(errno::ER_NON_UNIQ_ERROR, ambiguous_text(name, clause))
}

pub fn ambiguous_text(name: &str, clause: &str) -> String {
    format!("Column '{name}' in {clause} is ambiguous")
}

pub fn full_name(name: &ColumnName) -> String {
    [
        name.database.as_deref(),
        name.table.as_deref(),
        Some(&name.column),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(".")
}
