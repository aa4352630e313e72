//! Stored values: JSON, each with the number of its format.
//!
//! `{"format":1,"value":{...}}`. A value of a later format is refused. Fields that are added within a format
//! have a serde default.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use types::{Collation, Error, Result};

pub const FORMAT: u32 = 1;

/// A database. Its tables have records of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseRecord {
    pub id: i64,
    pub name: String,
    pub collation: Collation,
}

/// A value that SET GLOBAL has given a system variable, on a store that several nodes share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingRecord {
    pub name: String,
    /// As SHOW VARIABLES prints it; `None` is NULL.
    pub value: Option<String>,
}

#[derive(Serialize)]
struct Out<'a, T> {
    format: u32,
    value: &'a T,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Deserialize)]
struct In<T> {
    value: T,
}

/// # Errors
/// 1105 for a value that JSON cannot represent.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(&Out {
        format: FORMAT,
        value,
    })
    .map_err(Error::internal)
}

/// Reads a stored value; `what` names it in errors.
///
/// # Errors
/// 1105 if it is damaged or of another format.
pub fn decode<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    let damaged = |error: serde_json::Error| {
        Error::internal(format!(
            "the stored {what} is damaged ({error}): {}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
        ))
    };
    let Format { format } = serde_json::from_slice(bytes).map_err(damaged)?;
    if format != FORMAT {
        return Err(Error::internal(format!(
            "the stored {what} has format {format}, and this version reads format {FORMAT} only: \
             it was written by another version"
        )));
    }
    let In { value } = serde_json::from_slice(bytes).map_err(damaged)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        let database = DatabaseRecord {
            id: 7,
            name: "d".into(),
            collation: Collation::Utf8mb4Bin,
        };
        let bytes = encode(&database).unwrap();
        assert_eq!(decode::<DatabaseRecord>(&bytes, "database").unwrap(), database);
    }

    #[test]
    fn older_definitions_are_read() {
        let column = |default: &str| {
            let text = format!(
                r#"{{"format":1,"value":{{"id":1,"name":"a","ty":{},"nullable":true,"default":{default},"on_update_now":false,
                "auto_increment":false,"comment":"","state":"Public","original_default":null}}}}"#,
                serde_json::to_string(&types::SqlType::datetime(3)).unwrap()
            );
            decode::<schema::model::Column>(text.as_bytes(), "column").unwrap()
        };
        let old = column(r#"{"NowExpression":3}"#);
        let schema::model::Default::Expression(expression) = &old.default else {
            panic!("{old:?}")
        };
        assert_eq!(expression.text, "now(3)");
        assert!(old.generated.is_none() && !old.invisible && !old.hidden);
        let bytes = encode(&old).unwrap();
        assert_eq!(decode::<schema::model::Column>(&bytes, "column").unwrap(), old);
    }

    #[test]
    fn damage_and_later_formats_are_errors_that_say_so() {
        for (bytes, expected) in [
            (&b"{\"format\":1"[..], "damaged"),
            (b"\xff\x00", "damaged"),
            (b"{\"format\":1,\"value\":{}}", "damaged"),
            (b"{\"format\":2,\"value\":{}}", "format 2"),
        ] {
            let error = decode::<DatabaseRecord>(bytes, "database").unwrap_err();
            assert!(error.message.contains(expected), "{error}");
        }
    }
}
