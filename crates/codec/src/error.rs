//! Errors of stored bytes.

/// Bytes that no encoder of this crate wrote. They are an error and never a panic: a damaged disk must not
/// stop the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{what} ends too early")]
    Truncated { what: &'static str },
    #[error("{what} has {bytes} bytes too many")]
    TrailingBytes { what: &'static str, bytes: usize },
    #[error("{what} has the unknown flag or version {flag}")]
    UnknownFlag { what: &'static str, flag: u8 },
    #[error("{what} is malformed")]
    Malformed { what: &'static str },
    /// A defect of the caller, not damage: a value that is not of its column's type.
    #[error("a {value} cannot be stored in a column of type {kind:?}")]
    WrongType {
        value: &'static str,
        kind: types::TypeKind,
    },
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn wrong_type(value: &types::Value, ty: &types::SqlType) -> Self {
        let value = match value {
            types::Value::Null => "NULL",
            types::Value::Int(_) => "signed integer",
            types::Value::UInt(_) => "unsigned integer",
            types::Value::Double(_) => "double",
            types::Value::Decimal(_) => "decimal",
            types::Value::String(_) => "string",
            types::Value::Bytes(_) => "binary string",
            types::Value::Json(_) => "JSON document",
        };
        Self::WrongType { value, kind: ty.kind }
    }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::WrongType { .. } => types::Error::internal(error),
            damage => types::Error::new(
                types::errno::ER_NOT_KEYFILE,
                format!("Incorrect key file for table; stored data is damaged: {damage}"),
            ),
        }
    }
}
