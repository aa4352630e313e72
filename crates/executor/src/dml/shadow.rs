//! While an ALTER TABLE rewrites a table, its writers keep the *shadow table*, which has the new rows, up to
//! date ([`schema::shadow`]).
//!
//! A writer holds the lock of the table's row, so it alone writes the row's shadow row. It replaces what it
//! finds there: the `ALTER TABLE` may have copied the row already, or not.

use schema::layout::ShadowLayout;
use schema::model::{SchemaState, Table};
use types::Result;

/// What writers do for a shadow table.
#[derive(Debug)]
pub(super) struct Shadow {
    pub layout: ShadowLayout,
    /// Otherwise its rows are only removed.
    pub writes_rows: bool,
}

impl Shadow {
    /// Of a table whose expressions are bound; `None` if it has no shadow table.
    pub fn of(table: &Table) -> Result<Option<Box<Self>>> {
        let Some(shadow) = &table.shadow else {
            return Ok(None);
        };
        planner::expressions(&shadow.target)?;
        Ok(Some(Box::new(Self {
            layout: ShadowLayout::new(table, &shadow.target, &shadow.conversion)?,
            writes_rows: shadow.state >= SchemaState::WriteOnly,
        })))
    }
}
