//! Stored values: JSON, each with the number of its format.
//!
//! `{"format":1,"value":{...}}`. A value of a later format is refused. Fields that are added within a format
//! have a serde default: an older reader does without them. Where it cannot, because it would misread what it
//! finds, the value that has the field is of the next format ([`Record::format`]).

use schema::model::Table;
use schema::statistics::TableStatistics;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use types::{Collation, Error, Result};

/// The latest format. 2: entries of an index that sort by a part in descending order. 3: accounts with partial revokes. 4: jobs
/// whose indexes have deltas. 5: jobs that add columns with their indexes. 6: rewritten rows with new hidden ids.
pub const FORMAT: u32 = 6;

/// A value that is stored.
pub trait Record: Serialize {
    /// The first format whose readers understand all of this value.
    fn format(&self) -> u32 {
        1
    }
}

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

/// A value that SET PERSIST has stored for the next start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersistedRecord {
    pub name: String,
    /// As SHOW VARIABLES prints it; `None` is NULL.
    pub value: Option<String>,
    /// Microseconds since 1970.
    pub at_us: i64,
    /// The account that set it.
    pub user: String,
    pub host: String,
}

impl Record for PersistedRecord {}
impl Record for DatabaseRecord {}
impl Record for SettingRecord {}
impl Record for TableStatistics {}

impl Record for Table {
    fn format(&self) -> u32 {
        let shadow = self.shadow.as_deref();
        let descends = |table: &Table| table.has_descending_entries();
        match shadow {
            Some(shadow) if shadow.conversion.is_of_format_6() => 6,
            Some(shadow) if descends(&shadow.target) => 2,
            _ if descends(self) => 2,
            _ => 1,
        }
    }
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
pub fn encode<T: Record>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(&Out {
        format: value.format(),
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
    if !(1..=FORMAT).contains(&format) {
        return Err(Error::internal(format!(
            "the stored {what} has format {format}, and this version reads formats 1 to {FORMAT} only: \
             it was written by another version"
        )));
    }
    let In { value } = serde_json::from_slice(bytes).map_err(damaged)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::model::{SchemaState, ShadowTable};
    use schema::shadow::{Conversion, ShadowHandles};
    use schema::test_support::{column, descending, int, key};

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
    }

    /// An older reader takes such entries for ascending ones, so it must not get at them.
    #[test]
    fn only_definitions_that_an_older_reader_misreads_are_of_a_later_format() {
        let mut table = Table::of_columns(1, "d", "t", vec![column("a", int())]);
        table.indexes = vec![descending(key("k", &[0]), 0)];
        let format = |table: &Table| {
            let bytes = encode(table).unwrap();
            assert_eq!(decode::<Table>(&bytes, "table").unwrap(), *table);
            String::from_utf8(bytes).unwrap()[..12].to_owned()
        };
        assert_eq!(format(&table), r#"{"format":1,"#);
        let mut later = table.clone();
        later.indexes[0].parts[0].stored_descending = true;
        assert_eq!(format(&later), r#"{"format":2,"#);
        table.shadow = Some(Box::new(ShadowTable {
            state: SchemaState::WriteOnly,
            target: later,
            conversion: Conversion {
                sql_mode: types::SqlMode::default(),
                time_zone: String::new(),
                now_us: 0,
                checks: Vec::new(),
                handles: ShadowHandles::Same,
                first_id: None,
                id_steps: None,
                drops_misplaced: false,
                validates: false,
            },
        }));
        assert_eq!(format(&table), r#"{"format":2,"#);
        let shadow = table.shadow.as_mut().unwrap();
        shadow.conversion.handles = ShadowHandles::NewIds { index: 3, place: 9 };
        assert_eq!(format(&table), r#"{"format":6,"#);
    }

    /// Of a version that wrote such definitions in the first format.
    #[test]
    fn descending_entries_of_the_first_format_are_read() {
        let mut table = Table::of_columns(1, "d", "t", vec![column("a", int())]);
        table.indexes = vec![descending(key("k", &[0]), 0)];
        table.indexes[0].parts[0].stored_descending = true;
        let bytes = String::from_utf8(encode(&table).unwrap()).unwrap();
        let earlier = bytes.replacen("2", "1", 1);
        assert!(earlier.starts_with(r#"{"format":1,"#), "{earlier}");
        assert_eq!(decode::<Table>(earlier.as_bytes(), "table").unwrap(), table);
    }

    #[test]
    fn damage_and_later_formats_are_errors_that_say_so() {
        let later = format!(r#"{{"format":{},"value":{{}}}}"#, FORMAT + 1);
        let of_later = format!("format {}", FORMAT + 1);
        for (bytes, expected) in [
            (&b"{\"format\":1"[..], "damaged"),
            (b"\xff\x00", "damaged"),
            (b"{\"format\":1,\"value\":{}}", "damaged"),
            (later.as_bytes(), of_later.as_str()),
            (b"{\"format\":0,\"value\":{}}", "format 0"),
        ] {
            let error = decode::<DatabaseRecord>(bytes, "database").unwrap_err();
            assert!(error.message.contains(expected), "{error}");
        }
    }
}
