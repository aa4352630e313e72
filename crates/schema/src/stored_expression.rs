//! An expression that is part of a definition, as it is stored.

use serde::{Deserialize, Serialize};
use types::{Collation, SqlMode};

/// The text of an expression, with what its meaning depends on besides the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredExpression {
    /// MySQL's canonical text: names in backticks, parentheses around every operator, strings with their
    /// character sets. It is parsed under the default sql_mode.
    pub text: String,
    /// The sql_mode of the session that wrote it.
    #[serde(default, skip_serializing_if = "is_default_mode")]
    pub sql_mode: SqlMode,
    /// `@@collation_connection` of that session.
    pub collation: Collation,
}

fn is_default_mode(mode: &SqlMode) -> bool {
    *mode == SqlMode::default()
}
