//! Why a JSON value is not a value of another type.

use types::errno;

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
