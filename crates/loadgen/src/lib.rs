//! Workloads taken from the public record, run through a real MySQL driver against any MySQL server.
//!
//! There is one so far: [`demo`], a large shop's orders ([`orders`]), reported as a [`report::Table`]. Nothing here knows
//! StemDB; pointing it at another server compares the two.
//!
//! - [`orders`]: the schema, its data, the reads and the write transaction.
//! - [`run`]: threads, the clock, the progress bar.
//! - [`report`]: latencies and the table.

pub mod bench;
pub mod client;
mod error;
pub mod load;
pub mod options;
pub mod orders;
pub mod progress;
pub mod random;
pub mod registry;
pub mod report;
pub mod result;
pub mod run;
pub mod runner;
pub mod table;
pub mod target;
pub mod workload;

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;
use mysql::{Opts, OptsBuilder};

pub use error::{Error, Result};

/// What `stemdb demo` takes.
#[derive(Debug, Clone, Args)]
pub struct DemoArguments {
    /// The server: mysql://user:password@host:port
    #[arg(long, default_value = "mysql://root@127.0.0.1:4000")]
    pub dsn: String,
    /// The database that is dropped, created and filled.
    #[arg(long, default_value = "stemdb_demo")]
    pub database: String,
    /// Orders there are before the clock starts; ten rows over five tables each.
    #[arg(long, default_value_t = 5_000)]
    pub orders: u64,
    /// How long to measure, in seconds.
    #[arg(long, default_value_t = 20)]
    pub seconds: u64,
    /// Connections, one thread each.
    #[arg(long, default_value_t = 16)]
    pub threads: usize,
    /// Point reads for each write transaction; 87 is what the record shows.
    #[arg(long, default_value_t = 87)]
    pub reads_per_write: u64,
    /// Where the random choices start; the same seed asks the same questions.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Creates the order schema, fills it, runs the mix and prints the table to standard output.
///
/// Fails when the server cannot be reached, refuses the schema or the first rows. Errors of single operations while the
/// clock runs are counted and reported, and fail the whole only when nothing else happened.
pub fn demo(arguments: &DemoArguments) -> Result<()> {
    if arguments.threads == 0 || arguments.orders == 0 || arguments.seconds == 0 {
        return Err(Error::Arguments(
            "threads, orders and seconds must be above zero".to_owned(),
        ));
    }
    let opts: Opts = OptsBuilder::from_opts(Opts::from_url(&arguments.dsn)?)
        .prefer_socket(false)
        .into();
    let shop = orders::Shop::create(&opts, arguments)?;
    let table = run::run(&shop, Duration::from_secs(arguments.seconds))?;
    let mut out = io::stdout().lock();
    writeln!(out, "\n{table}").map_err(Error::Output)?;
    if table.successes() == 0 {
        return Err(Error::NothingWorked(table.first_error().to_string()));
    }
    Ok(())
}
