//! What a definition statement reports.

use types::Warning;

/// What a definition statement reports.
#[derive(Debug, Default)]
pub struct Executed {
    pub warnings: Vec<Warning>,
    /// How many rows ALTER TABLE has copied, where MySQL reports that.
    pub rows: u64,
}

impl From<Vec<Warning>> for Executed {
    fn from(warnings: Vec<Warning>) -> Self {
        Self { warnings, rows: 0 }
    }
}
