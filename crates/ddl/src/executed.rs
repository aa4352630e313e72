//! The result of a definition statement.

use types::Warning;

/// See the module.
#[derive(Debug, Default)]
pub struct Executed {
    pub warnings: Vec<Warning>,
    /// How many rows ALTER TABLE has copied, if MySQL reports that.
    pub rows: u64,
}

impl From<Vec<Warning>> for Executed {
    fn from(warnings: Vec<Warning>) -> Self {
        Self { warnings, rows: 0 }
    }
}
