//! `stemdb demo`: one command that creates the orders' tables on any server, runs their mix through the
//! `mysql` crate, and prints a table of latencies.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use crate::client::Connection;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::progress::Progress;
use crate::registry;
use crate::runner::{Plan, rung};
use crate::table::RungTable;
use crate::target::{Client, Target};
use crate::workload::Context;

/// The arguments of `stemdb demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArguments {
    /// The server: mysql://user:password@host:port
    #[arg(long, default_value = "mysql://root@127.0.0.1:4000")]
    pub dsn: String,
    /// The database that is dropped, created and filled.
    #[arg(long, default_value = "stemdb_demo")]
    pub database: String,
    /// Orders that exist before the clock starts; ten rows over five tables each.
    #[arg(long, default_value_t = 5_000)]
    pub orders: u64,
    /// How long to measure, in seconds.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Connections, one thread each.
    #[arg(long, default_value_t = 16)]
    pub threads: usize,
    /// Point reads for each write transaction; the public record has 87.
    #[arg(long, default_value_t = 87)]
    pub reads_per_write: u64,
    /// The seed of random choices: the same seed makes the same choices.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Creates the order schema, fills it, runs the mix and prints the table to standard output.
///
/// Fails if the server cannot be reached, or refuses the schema or the first rows. Errors of single
/// operations during the run are counted and reported. They fail the whole only if no operation succeeded.
pub fn demo(arguments: &DemoArguments) -> Result<()> {
    if arguments.threads == 0 || arguments.orders == 0 || arguments.seconds == 0 {
        return Err(Error::Arguments(
            "threads, orders and seconds must be above zero".to_owned(),
        ));
    }
    let spec = registry::find("orders-mixed")?;
    let given = [
        ("orders".to_owned(), arguments.orders.to_string()),
        (
            "reads-per-write".to_owned(),
            arguments.reads_per_write.to_string(),
        ),
    ];
    let options = Options::resolve(spec.name, spec.options, &given)?;
    let workload = (spec.build)(&options)?;
    let mut target = Target::parse(&arguments.dsn, &arguments.database)?;
    // A public driver, as applications use it, instead of the client that saves CPU time in benchmarks.
    target.client = Client::Driver;
    let context = Context {
        target: target.with_database(Some(&arguments.database)),
        options,
        seed: arguments.seed,
        load_threads: arguments.threads.min(8),
    };
    let name = arguments.database.replace('`', "``");
    let mut connection = Connection::open(&context.target.with_database(None))?;
    connection.query(&format!("DROP DATABASE IF EXISTS `{name}`"))?;
    connection.query(&format!("CREATE DATABASE `{name}`"))?;
    workload.prepare(&context)?;
    workload.open(&context)?;
    let plan = Plan {
        threads: arguments.threads,
        rate: None,
        warm_up: Duration::ZERO,
        time: Duration::from_secs(arguments.seconds),
        operations_max: None,
        interval: Duration::from_millis(500),
        reconnect: Duration::ZERO,
        server: None,
    };
    let progress = Progress::new("running", arguments.seconds * 1000);
    let rung = rung::run(workload.as_ref(), &context, &plan, &mut |interval| {
        let done_ms = (interval.start_seconds + interval.seconds) * 1000.0;
        let rate = interval.operations as f64 / interval.seconds.max(0.001);
        progress.set(done_ms as u64, &format!("{rate:.0} operations/s"));
    })?;
    progress.finish();
    let mut out = io::stdout().lock();
    writeln!(out, "\n{}", RungTable(&rung)).map_err(Error::Output)?;
    if let Some(failure) = rung.failure {
        return Err(Error::EndedEarly(failure));
    }
    if rung.all.count == 0 {
        let first = rung.errors.into_iter().next();
        return Err(Error::NothingWorked(
            first.map_or_else(|| "none".to_owned(), |error| error.message),
        ));
    }
    Ok(())
}
