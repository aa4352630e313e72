//! A query's result, and when two results are equal.

use mysql::consts::ColumnType;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// How far apart two sums of doubles may be, relative to the larger one: they depend on the order of the
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
    /// The error is a lost connection. A query's error is a result.
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

/// Why two results differ. Unless `ordered`, their rows may come in any order.
pub fn same(expected: &Answer, got: &Answer, ordered: bool) -> Result<(), String> {
    let (types, expected, got) = match (expected, got) {
        (Answer::Error { code: a, .. }, Answer::Error { code: b, .. }) if a == b => return Ok(()),
        (Answer::Error { code, message }, Answer::Error { code: b, message: m }) => {
            return Err(format!(
                "transactional: error {code} {message}; analytical: error {b} {m}"
            ));
        }
        (Answer::Error { code, message }, Answer::Rows { .. }) => {
            return Err(format!("transactional: error {code} {message}; analytical: rows"));
        }
        (Answer::Rows { .. }, Answer::Error { code, message }) => {
            return Err(format!("transactional: rows; analytical: error {code} {message}"));
        }
        (
            Answer::Rows { types, rows: a },
            Answer::Rows {
                types: others,
                rows: b,
            },
        ) => {
            if types != others {
                return Err(format!("transactional: types {types:?}; analytical: {others:?}"));
            }
            (types, a, b)
        }
    };
    if expected.len() != got.len() {
        return Err(format!(
            "transactional: {} rows; analytical: {}",
            expected.len(),
            got.len()
        ));
    }
    let order = |rows: &[Vec<Value>]| {
        let mut rows = rows.to_vec();
        if !ordered {
            rows.sort_by_cached_key(|row| sort_key(types, row));
        }
        rows
    };
    for (number, (a, b)) in order(expected).iter().zip(&order(got)).enumerate() {
        if !same_row(types, a, b) {
            return Err(format!(
                "row {number}\n  transactional: {}\n  analytical:    {}",
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

/// Exact columns come before doubles, which are rounded.
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
