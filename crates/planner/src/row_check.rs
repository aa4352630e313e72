//! A condition that a written row must satisfy in addition to its table's constraints: WITH CHECK OPTION of a
//! view that the statement writes through.

use functions::Expr;
use schema::definition::TableName;
use types::Error;

const ER_VIEW_CHECK_FAILED: u16 = 1369;

/// A condition on a written row, which the row must make true. `Q`: a query that runs for one row.
#[derive(Debug, Clone)]
pub struct RowCheck<Q> {
    pub condition: RowCondition<Q>,
    pub view: TableName,
}

/// What decides whether a row may be written.
#[derive(Debug, Clone)]
pub enum RowCondition<Q> {
    /// The columns of the row.
    Row(Expr),
    /// Subqueries, too: a query that gives the condition as its only column.
    Query(Box<Q>),
}

impl<Q> RowCheck<Q> {
    /// Error 1369.
    pub fn error(&self) -> Error {
        Error::new(
            ER_VIEW_CHECK_FAILED,
            format!("CHECK OPTION failed '{}.{}'", self.view.database, self.view.name),
        )
    }
}
