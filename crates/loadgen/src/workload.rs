//! What a workload is: the interface between the runner and `orders`, `sysbench`, `ycsb` and the rest.
//!
//! A [`Workload`] makes its tables, hands out one [`Worker`] per connection, and checks what a run has left behind. It
//! neither times nor counts nor spawns: that is [`crate::runner`]'s. Workloads are found by name in [`crate::registry`].

use std::time::Duration;

use crate::client::Connection;
use crate::error::Result;
use crate::options::Options;
use crate::result::{Figure, Rung};
use crate::target::Target;

/// What every part of a workload is given.
#[derive(Debug, Clone)]
pub struct Context {
    pub target: Target,
    /// The workload's own options, defaults filled in.
    pub options: Options,
    /// Where random choices start: the same seed makes the same choices.
    pub seed: u64,
    /// Threads to load with.
    pub load_threads: usize,
}

/// A workload, with its options read.
pub trait Workload: Send + Sync {
    /// The operations in the order of the report. Each has its own latencies; a worker names them by position.
    fn operations(&self) -> Vec<String>;

    /// Creates and fills the tables, in a database that exists. Drops tables of the same names first.
    fn prepare(&self, context: &Context) -> Result<()>;

    /// Called once before the workers of a run: reads from the tables what they share (largest keys and so on).
    ///
    /// Fails with the server's error (1146) where the tables have not been prepared.
    fn open(&self, context: &Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// A worker with its own connection and prepared statements. `number` is below `threads`; the seed for its choices
    /// is `context.seed` mixed with it. Called again with the same number after a connection was lost.
    fn worker(&self, context: &Context, number: usize, threads: usize) -> Result<Box<dyn Worker + '_>>;

    /// Figures of the workload's own that follow from a run (tpmC); added to its result.
    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        let _ = rung;
        Vec::new()
    }

    /// Looks whether the tables are as they must be after any number of runs.
    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()>;

    /// Drops the tables.
    fn cleanup(&self, context: &Context) -> Result<()>;
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Position in [`Workload::operations`].
    pub operation: usize,
    /// Time to wait first: keying and thinking. Not part of the latency; left out where a rate is asked for.
    pub wait: Duration,
}

impl Next {
    pub fn now(operation: usize) -> Self {
        Self {
            operation,
            wait: Duration::ZERO,
        }
    }
}

/// One client: a connection and its choices. Not `Send`: made and used on one thread.
pub trait Worker {
    /// Chooses the next operation and, where that costs time, its values: none of this is measured.
    fn next(&mut self) -> Next;

    /// Does what was chosen, measured as one latency. An error is counted by its code.
    fn run(&mut self, operation: usize) -> Result<()>;

    /// The connection: for counting statements, and for `ROLLBACK` after an error of the server.
    fn connection(&mut self) -> &mut Connection;

    /// Called after an error that left the connection usable. The default rolls back what may be open.
    fn recover(&mut self) -> Result<()> {
        self.connection().query("ROLLBACK").map(drop)
    }
}

/// One thing that a check looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub passed: bool,
    /// What was found: figures, or what is wrong.
    pub detail: String,
}

/// What the checks of a workload have found.
#[derive(Debug, Default)]
pub struct Checks {
    pub list: Vec<Check>,
}

impl Checks {
    pub fn add(&mut self, name: impl Into<String>, passed: bool, detail: impl Into<String>) {
        self.list.push(Check {
            name: name.into(),
            passed,
            detail: detail.into(),
        });
    }

    /// Adds a check that two integers are the same.
    pub fn equal(&mut self, name: impl Into<String>, found: i64, expected: i64) {
        let detail = if found == expected {
            format!("{found}")
        } else {
            format!("{found}, not {expected}")
        };
        self.add(name, found == expected, detail);
    }

    /// Adds a check that a query finds nothing: its first value is a count that must be 0.
    pub fn none(&mut self, name: impl Into<String>, connection: &mut Connection, sql: &str) -> Result<()> {
        let count = connection.fetch_int(sql)?;
        self.equal(name, count, 0);
        Ok(())
    }

    pub fn failed(&self) -> usize {
        self.list.iter().filter(|check| !check.passed).count()
    }
}

/// Whether every index of a table holds exactly what the rows say, where the server can tell: StemDB by ADMIN CHECK
/// TABLE, MySQL and MariaDB by CHECK TABLE.
pub fn check_indexes(connection: &mut Connection, table: &str, checks: &mut Checks) -> Result<()> {
    let name = format!("indexes of {table}");
    if connection.server_version().contains("StemDB") {
        match connection.fetch_query(&format!("ADMIN CHECK TABLE {table}")) {
            Ok(_) => checks.add(name, true, "agree with the rows"),
            Err(crate::Error::Server { code, message }) => {
                checks.add(name, false, format!("{message} (error {code})"));
            }
            Err(error) => return Err(error),
        }
        return Ok(());
    }
    let rows = connection.fetch_query(&format!("CHECK TABLE {table}"))?;
    let last = rows
        .last()
        .map(|row| row.text(3))
        .transpose()?
        .unwrap_or_default();
    checks.add(name, last == "OK", last);
    Ok(())
}
