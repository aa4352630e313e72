//! The interface between the runner and the workloads (`orders`, `sysbench`, `ycsb` and others).
//!
//! A [`Workload`] creates its tables, makes one [`Worker`] per connection, and checks the tables after a
//! run. It measures no times and starts no threads: [`crate::runner`] does. [`crate::registry`] finds
//! workloads by name.

use std::time::Duration;

use crate::client::Connection;
use crate::error::Result;
use crate::options::{OptionSpec, Options};
use crate::result::{Figure, Rung};
use crate::target::Target;

/// The parameters that every part of a workload gets.
#[derive(Debug, Clone)]
pub struct Context {
    pub target: Target,
    /// The workload's own options, including defaults.
    pub options: Options,
    /// The seed of random numbers: the same seed makes the same choices.
    pub seed: u64,
    /// Threads that fill tables.
    pub load_threads: usize,
}

/// A workload with its options.
pub trait Workload: Send + Sync {
    /// The operations, in the order of the report. Latencies are measured for each. A worker names them by
    /// position.
    fn operations(&self) -> Vec<String>;

    /// Creates and fills the tables in an existing database. Drops tables of the same names first.
    fn prepare(&self, context: &Context) -> Result<()>;

    /// Called once before the workers of a run start: reads what they share from the tables (largest keys
    /// and so on).
    ///
    /// Fails with the server's error (1146) if the tables have not been prepared.
    fn open(&self, context: &Context) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// Creates a worker with its own connection and prepared statements. `number` is below `threads`; the
    /// seed of its choices is `context.seed` mixed with it. Called again with the same number after a
    /// connection was lost.
    fn worker(&self, context: &Context, number: usize, threads: usize) -> Result<Box<dyn Worker + '_>>;

    /// The workload's own figures of a run (tpmC), which are added to its result.
    fn figures(&self, rung: &Rung) -> Vec<Figure> {
        let _ = rung;
        Vec::new()
    }

    /// Checks conditions on the tables that must hold after any number of runs.
    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()>;

    /// Drops the tables.
    fn cleanup(&self, context: &Context) -> Result<()>;
}

/// A workload's name, description and constructor.
#[derive(Clone, Copy)]
pub struct WorkloadSpec {
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    pub options: &'static [OptionSpec],
    /// Reads the options and creates the workload. Sends nothing.
    pub build: fn(&Options) -> Result<Box<dyn Workload>>,
}

impl WorkloadSpec {
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        options: &'static [OptionSpec],
        build: fn(&Options) -> Result<Box<dyn Workload>>,
    ) -> Self {
        Self {
            name,
            summary,
            options,
            build,
        }
    }
}

/// A worker's next operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Position in [`Workload::operations`].
    pub operation: usize,
    /// Time to wait first: keying and thinking. It is not part of the latency, and is left out if a rate is
    /// given.
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

/// One client: a connection and its random choices. Not `Send`: created and used on one thread.
pub trait Worker {
    /// Chooses the next operation and, if that takes time, its values. None of this is measured.
    fn next(&mut self) -> Next;

    /// Runs the chosen operation, measured as one latency. An error is counted by its code.
    fn run(&mut self, operation: usize) -> Result<()>;

    /// The connection: for counting statements, and for `ROLLBACK` after an error from the server.
    fn connection(&mut self) -> &mut Connection;

    /// Called after an error that left the connection usable. The default rolls back an open transaction.
    fn recover(&mut self) -> Result<()> {
        self.connection().query("ROLLBACK").map(drop)
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub passed: bool,
    /// Figures, or what is wrong.
    pub detail: String,
}

/// The results of a workload's checks.
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

    /// Adds a check that two integers are equal.
    pub fn equal(&mut self, name: impl Into<String>, found: i64, expected: i64) {
        let detail = if found == expected {
            format!("{found}")
        } else {
            format!("{found}, not {expected}")
        };
        self.add(name, found == expected, detail);
    }

    /// Adds a check that a query counts nothing: its first value must be 0.
    pub fn none(&mut self, name: impl Into<String>, connection: &mut Connection, sql: &str) -> Result<()> {
        let count = connection.fetch_int(sql)?;
        self.equal(name, count, 0);
        Ok(())
    }

    pub fn failed(&self) -> usize {
        self.list.iter().filter(|check| !check.passed).count()
    }
}

/// Checks that every index of a table matches its rows, with ADMIN CHECK TABLE on StemDB, and CHECK TABLE
/// on MySQL and MariaDB.
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
