//! Expressions that are part of a definition, as they are stored: defaults, generated columns, CHECK
//! constraints.

use serde::{Deserialize, Deserializer, Serialize};
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

/// `GENERATED ALWAYS AS (expression)`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    pub expression: StoredExpression,
    /// STORED; otherwise VIRTUAL.
    pub stored: bool,
}

/// `CONSTRAINT name CHECK (expression)`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub expression: StoredExpression,
    pub enforced: bool,
    /// Writers obey it already, and existing rows are being checked. Statements see it afterwards.
    #[serde(default, skip_serializing_if = "is_false")]
    pub validating: bool,
}

/// Reads a default's expression. In older catalogs it is the precision of `(now(fsp))`.
pub(crate) fn default_expression<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<StoredExpression, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        NowPrecision(u8),
        Expression(StoredExpression),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::NowPrecision(fsp) => StoredExpression {
            text: now_call(fsp),
            sql_mode: SqlMode::default(),
            collation: Collation::DEFAULT,
        },
        Form::Expression(expression) => expression,
    })
}

/// `now(fsp)`, as MySQL prints it.
fn now_call(fsp: u8) -> String {
    match fsp {
        0 => "now()".to_owned(),
        fsp => format!("now({fsp})"),
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}
