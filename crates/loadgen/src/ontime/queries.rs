//! The four queries of the record (a TiDB and a MySQL on one server, 2019), and the checksums of their
//! results.

use super::flight;
use super::schema::TABLE;
use crate::client::{Connection, Row, Value};
use crate::error::Result;

/// The last query drops groups with less than this part of the table: 100,000 of about 180 million rows in
/// the record.
const ROWS_A_RARE_GROUP: u64 = 1800;

/// A query, and how its result is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub name: &'static str,
    pub sql: String,
    /// Whether it orders its rows. If not, any order is correct.
    pub ordered: bool,
}

pub const NAMES: [&str; 4] = [
    "count",
    "count by year",
    "five filters, limit 10",
    "late flights by carrier",
];

/// The queries for a table of so many rows.
pub fn queries(rows: u64) -> [Query; 4] {
    let [count, by_year, filters, carriers] = NAMES;
    [
        Query {
            name: count,
            sql: format!("SELECT COUNT(*) FROM {TABLE}"),
            ordered: true,
        },
        Query {
            name: by_year,
            sql: format!("SELECT COUNT(*), Year FROM {TABLE} GROUP BY Year ORDER BY Year"),
            ordered: true,
        },
        Query {
            name: filters,
            sql: format!(
                "SELECT * FROM {TABLE} WHERE UniqueCarrier = '{}' AND TailNum = '{}' AND FlightNum = '{}' \
                 AND Origin = '{}' AND Dest = '{}' LIMIT 10",
                flight::SOUGHT_CARRIER,
                flight::SOUGHT_TAIL,
                flight::SOUGHT_NUMBER,
                flight::SOUGHT_ORIGIN,
                flight::SOUGHT_DEST
            ),
            ordered: false,
        },
        Query {
            name: carriers,
            // The last key of the order is not in the record. It breaks ties, so that results can be
            // compared.
            sql: format!(
                "SELECT MIN(Year), MAX(Year) AS max_year, Carrier, COUNT(*) AS cnt, \
                 SUM(IF(ArrDelayMinutes > 30, 1, 0)) AS flights_delayed, \
                 ROUND(SUM(IF(ArrDelayMinutes > 30, 1, 0)) / COUNT(*), 2) AS rate \
                 FROM {TABLE} \
                 WHERE DayOfWeek NOT IN (6, 7) AND OriginState NOT IN ('AK', 'HI', 'PR', 'VI') \
                 AND DestState NOT IN ('AK', 'HI', 'PR', 'VI') \
                 GROUP BY Carrier HAVING cnt > {} AND max_year > 2010 \
                 ORDER BY rate DESC, cnt DESC, Carrier LIMIT 10",
                rows / ROWS_A_RARE_GROUP
            ),
            ordered: true,
        },
    ]
}

impl Query {
    pub fn ask(&self, connection: &mut Connection) -> Result<Answer> {
        let mut rows = connection.fetch_query(&self.sql)?;
        if !self.ordered {
            rows.sort_by_key(line);
        }
        Ok(Answer { rows })
    }
}

/// A server's result, in an order of rows that does not depend on the server.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub rows: Vec<Row>,
}

impl Answer {
    /// Equal for equal values on every server: 64 bits of FNV-1a.
    pub fn checksum(&self) -> u64 {
        let mut hash = Hash::new();
        for row in &self.rows {
            hash.add(&line(row));
        }
        hash.0
    }
}

/// Combines several checksums into one.
pub fn combined(checksums: &[u64]) -> u64 {
    let mut hash = Hash::new();
    for checksum in checksums {
        hash.add(&checksum.to_be_bytes());
    }
    hash.0
}

/// A row as bytes that differ if values differ: each value has a tag, text and numbers their length.
fn line(row: &Row) -> Vec<u8> {
    let mut out = Vec::new();
    let mut text = |bytes: &[u8]| {
        out.push(1);
        out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    for value in &row.0 {
        match value {
            Value::Null => text(b"\0NULL"),
            Value::Int(number) => text(number.to_string().as_bytes()),
            Value::UInt(number) => text(number.to_string().as_bytes()),
            Value::Double(number) => text(number.to_string().as_bytes()),
            Value::Bytes(bytes) => text(bytes),
        }
    }
    out
}

struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        let row = |values: &&[&str]| {
            Row(values
                .iter()
                .map(|value| match *value {
                    "NULL" => Value::Null,
                    text => Value::Bytes(text.into()),
                })
                .collect())
        };
        Answer {
            rows: rows.iter().map(row).collect(),
        }
    }

    #[test]
    fn checksums_tell_answers_apart() {
        let same = answer(&[&["1", "a"], &["2", "NULL"]]).checksum();
        assert_eq!(same, answer(&[&["1", "a"], &["2", "NULL"]]).checksum());
        for other in [
            answer(&[&["1", "a"]]),
            answer(&[&["2", "NULL"], &["1", "a"]]),
            answer(&[&["1a", ""], &["2", "NULL"]]),
            answer(&[&["1", "a"], &["2", ""]]),
        ] {
            assert_ne!(same, other.checksum());
        }
    }

    #[test]
    fn integers_are_the_same_in_either_protocol() {
        let binary = Answer {
            rows: vec![Row(vec![Value::Int(12), Value::UInt(3)])],
        };
        assert_eq!(binary.checksum(), answer(&[&["12", "3"]]).checksum());
    }

    #[test]
    fn rare_groups_scale_with_the_table() {
        let of = |rows| queries(rows)[3].sql.clone();
        assert!(of(180_000_000).contains("cnt > 100000 AND max_year > 2010"));
        assert!(of(1_000).contains("cnt > 0 "));
    }
}
