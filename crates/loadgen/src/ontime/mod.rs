//! Flights of a quarter of a century in one wide table, and four queries that read all of it: analytics on
//! rows.
//!
//! The table is that of the US airline on-time performance data in Percona's benchmarks: 109 columns and a
//! key. Its rows are generated as skewed as the real ones, and are the same for the same seed. The queries
//! are the four with which the public record compares servers on that table: `COUNT(*)`; a count by year;
//! five equality filters over the whole table; a grouped and ordered aggregate with a filter. Each is one
//! operation. They are sent in turn, as text.
//!
//! - [`schema`]: the columns.
//! - [`flight`], with [`airports`], [`carriers`] and [`calendar`]: the data; [`row`]: the data as rows.
//! - [`queries`]: the queries and the checksums of their results.

pub mod airports;
pub mod calendar;
pub mod carriers;
pub mod flight;
pub mod queries;
pub mod row;
pub mod schema;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::Connection;
use crate::error::{Error, Result};
use crate::load;
use crate::options::{OptionSpec, Options};
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Next, Worker, Workload};
use flight::Generator;
use queries::{Answer, Query};

pub const WORKLOADS: &[WorkloadSpec] = &[WorkloadSpec {
    name: "ontime",
    summary: "airline flights in one table of 110 columns, four analytical queries",
    options: OPTIONS,
    build,
}];

const OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "rows",
    "100000",
    "flights in the table that prepare makes; about 450 bytes each",
)];

/// The largest number of rows: the key has this many ids.
const ROWS_MAX: u64 = 4_000_000_000;
/// About 250 KB a statement.
const ROWS_A_STATEMENT: u64 = 500;

fn build(options: &Options) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Ontime {
        rows: options.integer("rows", 1..=ROWS_MAX)?,
        rows_found: AtomicU64::new(0),
    }))
}

struct Ontime {
    /// The number of rows to prepare.
    rows: u64,
    /// The number of rows in the table that a run found.
    rows_found: AtomicU64,
}

impl Workload for Ontime {
    fn operations(&self) -> Vec<String> {
        queries::NAMES.map(str::to_owned).to_vec()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        connection.query(&drop_table())?;
        connection.query(&schema::create_table())?;
        let generator = Generator::new(context.seed, self.rows);
        let parts = self.rows.div_ceil(ROWS_A_STATEMENT);
        load::in_parallel(context, "flights", parts, |connection, part| {
            let first = part * ROWS_A_STATEMENT;
            let rows = first..self.rows.min(first + ROWS_A_STATEMENT);
            connection.query(&insert(&generator, rows)).map(drop)
        })
    }

    fn open(&self, context: &Context) -> Result<()> {
        let rows = largest_id(&mut Connection::open(&context.target)?)?;
        self.rows_found.store(rows, Ordering::Relaxed);
        Ok(())
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        Ok(Box::new(Analyst {
            connection: Connection::open(&context.target)?,
            queries: queries::queries(self.rows_found.load(Ordering::Relaxed)),
            // Each client starts with another query.
            turn: number,
        }))
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        let rows = largest_id(&mut connection)?;
        let queries = queries::queries(rows);
        let answers = ask_all(&queries, &mut connection)?;
        let again = ask_all(&queries, &mut connection)?;
        check_rows(rows, &answers, checks)?;
        let mut checksums = Vec::new();
        for (position, query) in queries.iter().enumerate() {
            let (first, second) = (answers[position].checksum(), again[position].checksum());
            let detail = format!("{} rows, checksum {first:016x}", answers[position].rows.len());
            checks.add(
                format!("{}: the same answer twice", query.name),
                first == second,
                detail,
            );
            checksums.push(first);
        }
        // This is no check by itself. It can be compared with the checksum of another server that has the
        // same rows.
        checks.add(
            "all answers",
            true,
            format!("checksum {:016x}", queries::combined(&checksums)),
        );
        Ok(())
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        Connection::open(&context.target)?.query(&drop_table())?;
        Ok(())
    }
}

fn drop_table() -> String {
    format!("DROP TABLE IF EXISTS {}", schema::TABLE)
}

fn insert(generator: &Generator, rows: std::ops::Range<u64>) -> String {
    let mut sql = format!("INSERT INTO {} VALUES ", schema::TABLE);
    let first = rows.start;
    for number in rows {
        if number > first {
            sql.push(',');
        }
        row::write_row(&mut sql, number + 1, &generator.flight(number));
    }
    sql
}

/// The number of rows that were prepared: ids start at 1 and have no gaps.
fn largest_id(connection: &mut Connection) -> Result<u64> {
    let sql = format!("SELECT MAX(id) FROM {}", schema::TABLE);
    let rows = connection.fetch_query(&sql)?;
    match rows.first() {
        Some(row) if !row.is_null(0)? => Ok(row.int(0)?.unsigned_abs()),
        _ => Err(Error::Unexpected(format!(
            "the table {} is empty: prepare it first",
            schema::TABLE
        ))),
    }
}

fn ask_all(queries: &[Query], connection: &mut Connection) -> Result<Vec<Answer>> {
    queries.iter().map(|query| query.ask(connection)).collect()
}

/// Checks the results that are known in advance: the number of rows, of each year's rows, and of those that
/// the third query finds.
fn check_rows(rows: u64, answers: &[Answer], checks: &mut Checks) -> Result<()> {
    let [count, by_year, sought, ..] = answers else {
        return Err(Error::Unexpected("four queries have fewer answers".to_owned()));
    };
    let counted = count.rows.first().map_or(Ok(0), |row| row.int(0))?;
    checks.equal("rows", counted, rows as i64);
    let mut found = BTreeMap::new();
    for row in &by_year.rows {
        found.insert(row.int(1)?, row.int(0)?);
    }
    checks.equal("rows of all years", found.values().sum(), counted);
    let mut expected = BTreeMap::new();
    for row in 0..rows {
        *expected
            .entry(i64::from(calendar::day_of_row(row, rows).year))
            .or_insert(0) += 1;
    }
    let detail = match found.iter().find(|(year, n)| expected.get(*year) != Some(*n)) {
        Some((year, n)) => format!("{n} in {year}, not {}", expected.get(year).unwrap_or(&0)),
        None => format!("{} years of {}", found.len(), expected.len()),
    };
    checks.add("rows of each year", found == expected, detail);
    checks.equal(
        "rows with five filters",
        sought.rows.len() as i64,
        rows.min(flight::SOUGHT) as i64,
    );
    Ok(())
}

struct Analyst {
    connection: Connection,
    queries: [Query; 4],
    turn: usize,
}

impl Worker for Analyst {
    fn next(&mut self) -> Next {
        let operation = self.turn % self.queries.len();
        self.turn += 1;
        Next::now(operation)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        let Some(query) = self.queries.get(operation) else {
            return Err(Error::Unexpected(format!("no query {operation}")));
        };
        self.connection.query(&query.sql).map(drop)
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_has_its_rows_and_nothing_else() {
        let sql = insert(&Generator::new(1, 10), 3..6);
        assert!(sql.starts_with("INSERT INTO ontime VALUES (4,"));
        assert!(sql.contains("),(5,") && sql.contains("),(6,") && !sql.contains("),(7,"));
        assert!(sql.ends_with(')'));
    }

    #[test]
    fn wrong_sizes_are_refused() {
        for rows in ["0", "many", "5000000000"] {
            let given = [("rows".to_owned(), rows.to_owned())];
            let options = Options::resolve("ontime", OPTIONS, &given).unwrap();
            assert!(build(&options).is_err(), "{rows}");
        }
    }
}
