//! A condition that a written row must satisfy in addition to its table's constraints: WITH CHECK OPTION of a
//! view that the statement writes through.

use functions::Expr;
use schema::definition::TableName;
use types::Error;

const ER_VIEW_CHECK_FAILED: u16 = 1369;

/// A condition over the columns of the written row. The row must make it true.
#[derive(Debug, Clone)]
pub struct RowCheck {
    pub condition: Expr,
    pub view: TableName,
}

impl RowCheck {
    /// Error 1369.
    pub fn error(&self) -> Error {
        Error::new(
            ER_VIEW_CHECK_FAILED,
            format!("CHECK OPTION failed '{}.{}'", self.view.database, self.view.name),
        )
    }

    /// The same over other columns.
    #[must_use]
    pub fn map_columns(mut self, map: &impl Fn(usize) -> usize) -> Self {
        self.condition.map_columns(map);
        self
    }
}
