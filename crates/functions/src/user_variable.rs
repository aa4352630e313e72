//! What a user variable holds.

use types::{Collation, SqlType, TypeKind, Value};

/// A value, and for a text the collation that it was assigned with.
#[derive(Debug, Clone, PartialEq)]
pub struct UserVariable {
    pub value: Value,
    /// `None`: the connection's.
    collation: Option<Collation>,
}

impl UserVariable {
    /// A value that has a type.
    pub fn new(value: Value, ty: &SqlType) -> Self {
        let collation = match ty.kind {
            TypeKind::Json => Some(Collation::Utf8mb4Bin),
            _ if ty.is_string() || ty.has_members() => Some(ty.collation),
            _ => None,
        };
        Self { value, collation }
    }

    /// The collation of its text. `connection`: that of texts that were assigned without one.
    pub(crate) fn collation(&self, connection: Collation) -> Collation {
        self.collation.unwrap_or(connection)
    }
}

impl From<Value> for UserVariable {
    fn from(value: Value) -> Self {
        Self {
            value,
            collation: None,
        }
    }
}
