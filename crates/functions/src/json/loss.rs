//! Why a JSON value is not a value of another type.

use types::errno;

use crate::Expr;

/// Why JSON is not a value of another type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JsonLoss {
    Invalid,
    OutOfRange,
}

impl JsonLoss {
    /// Error 3156 or 3155, and the beginning of its message.
    pub fn code(self) -> (u16, &'static str) {
        match self {
            Self::Invalid => (errno::ER_INVALID_JSON_VALUE_FOR_CAST, "Invalid"),
            Self::OutOfRange => (errno::ER_JSON_VALUE_OUT_OF_RANGE_FOR_CAST, "Out of range"),
        }
    }
}

/// What messages call the JSON that an expression gives.
pub fn json_name(expr: &Expr) -> &str {
    match expr {
        Expr::Column { label, .. } => label.name().unwrap_or("column"),
        Expr::Call { function, .. } => match function.name() {
            "->" => "json_extract",
            name => name,
        },
        Expr::Case { branches, .. } => branches.first().map_or("case", |(_, value)| json_name(value)),
        _ => "cast_as_json",
    }
}
