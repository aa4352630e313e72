//! A query's result, and when two results are equal.

use std::fmt::Display;

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// The allowed difference of two sums of doubles, relative to the larger one: sums depend on the order of the
/// additions.
const TOLERANCE: f64 = 1e-9;

pub enum Answer {
    Rows {
        types: Vec<ColumnType>,
        rows: Vec<Vec<Value>>,
    },
    Error {
        code: u16,
        message: String,
    },
}

impl Answer {
    /// The outer error is a lost connection. An error of the query is a result.
    pub fn of(conn: &mut Conn, query: &str) -> Result<Self, String> {
        match Self::rows(conn, query) {
            Ok(answer) => Ok(answer),
            Err(mysql::Error::MySqlError(e)) => Ok(Self::Error {
                code: e.code,
                message: e.message,
            }),
            Err(e) => Err(e.to_string()),
        }
    }

    /// The same for a statement that changes rows: how many it has changed.
    pub fn of_change(conn: &mut Conn, statement: &str) -> Result<Self, String> {
        match Self::of(conn, statement)? {
            Self::Rows { .. } => Ok(Self::Rows {
                types: vec![ColumnType::MYSQL_TYPE_LONGLONG],
                rows: vec![vec![Value::UInt(conn.affected_rows())]],
            }),
            error => Ok(error),
        }
    }

    fn rows(conn: &mut Conn, query: &str) -> Result<Self, mysql::Error> {
        let mut result = conn.query_iter(query)?;
        let types = result
            .columns()
            .as_ref()
            .iter()
            .map(|c| c.column_type())
            .collect();
        let mut rows = Vec::new();
        for row in result.by_ref() {
            rows.push(row?.unwrap());
        }
        Ok(Self::Rows { types, rows })
    }

    pub fn error_code(&self) -> Option<u16> {
        match self {
            Self::Rows { .. } => None,
            Self::Error { code, .. } => Some(*code),
        }
    }
}

/// The two sides of a comparison, and what has to be equal.
pub struct Sides<'a> {
    /// The names of the side that is right, and of the other side.
    pub names: [&'a str; 2],
    /// Whether the columns' types must be equal.
    pub types: bool,
    /// Whether the rows must come in the same order.
    pub ordered: bool,
}

impl Sides<'_> {
    fn differ(&self, expected: impl Display, got: impl Display) -> Result<(), String> {
        let [first, second] = self.names;
        Err(format!("{first}: {expected}; {second}: {got}"))
    }
}

/// Why two results differ.
pub fn same(expected: &Answer, got: &Answer, sides: &Sides) -> Result<(), String> {
    let (types, expected, got) = match (expected, got) {
        (Answer::Error { code: a, .. }, Answer::Error { code: b, .. }) if a == b => return Ok(()),
        (Answer::Error { code, message }, Answer::Error { code: b, message: m }) => {
            return sides.differ(format!("error {code} {message}"), format!("error {b} {m}"));
        }
        (Answer::Error { code, message }, Answer::Rows { .. }) => {
            return sides.differ(format!("error {code} {message}"), "rows");
        }
        (Answer::Rows { .. }, Answer::Error { code, message }) => {
            return sides.differ("rows", format!("error {code} {message}"));
        }
        (
            Answer::Rows { types, rows: a },
            Answer::Rows {
                types: others,
                rows: b,
            },
        ) => {
            if sides.types && types != others {
                return sides.differ(format!("types {types:?}"), format!("{others:?}"));
            }
            (types, a, b)
        }
    };
    if expected.len() != got.len() {
        return sides.differ(format!("{} rows", expected.len()), got.len());
    }
    let order = |rows: &[Vec<Value>]| {
        let mut rows = rows.to_vec();
        if !sides.ordered {
            rows.sort_by_cached_key(|row| sort_key(types, row));
        }
        rows
    };
    for (number, (a, b)) in order(expected).iter().zip(&order(got)).enumerate() {
        if !same_row(types, a, b) {
            let [first, second] = sides.names;
            return Err(format!(
                "row {number}\n  {first}: {}\n  {second}: {}",
                show(a),
                show(b)
            ));
        }
    }
    Ok(())
}

fn is_double(ty: ColumnType) -> bool {
    matches!(ty, ColumnType::MYSQL_TYPE_DOUBLE | ColumnType::MYSQL_TYPE_FLOAT)
}

/// Sorts by exact columns before doubles, which are rounded.
fn sort_key(types: &[ColumnType], row: &[Value]) -> (Vec<String>, Vec<String>) {
    let columns = || types.iter().zip(row);
    let exact = columns()
        .filter(|(ty, _)| !is_double(**ty))
        .map(|(_, v)| v.as_sql(true));
    let doubles = columns()
        .filter(|(ty, _)| is_double(**ty))
        .map(|(_, v)| match double(v) {
            Some(value) => format!("{:.6e}", value + 0.0),
            None => "NULL".to_string(),
        });
    (exact.collect(), doubles.collect())
}

fn same_row(types: &[ColumnType], a: &[Value], b: &[Value]) -> bool {
    types.iter().zip(a.iter().zip(b)).all(|(ty, (a, b))| {
        a == b
            || is_double(*ty)
                && matches!((double(a), double(b)), (Some(a), Some(b)) if (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()))
    })
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Value::Float(v) => Some(f64::from(*v)),
        Value::Double(v) => Some(*v),
        _ => None,
    }
}

fn show(row: &[Value]) -> String {
    row.iter().map(|v| v.as_sql(true)).collect::<Vec<_>>().join(", ")
}
