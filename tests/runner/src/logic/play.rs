//! Runs one file on a database of its own, and compares.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row, Value};

use super::format::{Expected, Record};
use super::known::Known;
use super::values;
use crate::sql::play::Route;
use crate::text;

/// The queries are made for engines without statistics, but their tables have at most some thousand rows.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// How many differences are printed per file. Further ones are counted.
const DIFFERENCES_SHOWN: usize = 10;

/// A file to run, and how.
pub struct Play<'a> {
    /// Its path in the corpus, without `test/`.
    pub file: &'a str,
    pub records: &'a [Record],
    /// One of so many queries runs, and each statement.
    pub every: usize,
    pub route: Route,
    pub known: &'a Known,
}

/// What ran.
#[derive(Debug, Default)]
pub struct Outcome {
    pub records: usize,
    /// The first differences, and how many there are.
    pub differences: Vec<String>,
    pub different: usize,
    /// The slowest record: its line and time.
    pub slowest: (usize, Duration),
}

impl Play<'_> {
    /// The error is a server that cannot be used.
    pub fn run(&self, opts: &Opts, database: &str) -> Result<Outcome, String> {
        let mut conn = self.connect(opts, database).map_err(text)?;
        let mut outcome = Outcome::default();
        let mut queries = 0;
        for record in self.records {
            if matches!(record.expected, Expected::Query { .. }) {
                queries += 1;
                if (queries - 1) % self.every != 0 {
                    continue;
                }
            }
            let start = Instant::now();
            let (got, why) = answer(&mut conn, record)
                .map_err(|e| format!("{}:{}: {e}\n{}", self.file, record.line, record.sql))?;
            let took = start.elapsed();
            if took > outcome.slowest.1 {
                outcome.slowest = (record.line, took);
            }
            outcome.records += 1;
            let corpus = wanted(&record.expected);
            let wanted = self.known.result(self.file, record.line).unwrap_or(&corpus);
            if got != wanted {
                outcome.different += 1;
                if outcome.differences.len() < DIFFERENCES_SHOWN {
                    let (file, line, sql) = (self.file, record.line, &record.sql);
                    let difference = format!("{file}:{line}: {sql}\n  - {wanted}\n  + {got} {why}");
                    outcome.differences.push(difference);
                }
            }
        }
        let dropped = conn.query_drop(format!("DROP DATABASE {database}"));
        dropped.map_err(text)?;
        Ok(outcome)
    }

    fn connect(&self, opts: &Opts, database: &str) -> Result<Conn, mysql::Error> {
        let opts = OptsBuilder::from_opts(opts.clone()).read_timeout(Some(ANSWER_MAX));
        let mut conn = Conn::new(opts)?;
        // The corpus is older than ONLY_FULL_GROUP_BY.
        for statement in [
            format!("DROP DATABASE IF EXISTS {database}"),
            format!("CREATE DATABASE {database}"),
            format!("USE {database}"),
            "SET sql_mode = ''".to_string(),
        ] {
            conn.query_drop(statement)?;
        }
        if let Some(statement) = self.route.setup() {
            conn.query_drop(statement)?;
        }
        Ok(conn)
    }
}

/// A result in one line, as `known.tsv` has it.
fn wanted(expected: &Expected) -> String {
    match expected {
        Expected::Done(true) => "ok".to_string(),
        Expected::Done(false) => "error".to_string(),
        Expected::Query { lines, .. } => lines.join(" | "),
    }
}

/// The result in one line, and the message of an error. The error is a lost connection.
fn answer(conn: &mut Conn, record: &Record) -> Result<(String, String), mysql::Error> {
    let result = match &record.expected {
        Expected::Done(_) => conn.query_drop(&record.sql).map(|()| "ok".to_string()),
        Expected::Query { types, sort, lines } => conn.query::<Row, _>(&record.sql).map(|rows| {
            let rows: Vec<Vec<Value>> = rows.into_iter().map(Row::unwrap).collect();
            values::lines(&rows, types, *sort, values::is_hash(lines)).join(" | ")
        }),
    };
    match result {
        Ok(line) => Ok((line, String::new())),
        // 1105 is a panic, which no record may expect.
        Err(mysql::Error::MySqlError(e)) if e.code != ER_UNKNOWN => Ok(("error".to_string(), e.to_string())),
        Err(e) => Err(e),
    }
}

const ER_UNKNOWN: u16 = 1105;
