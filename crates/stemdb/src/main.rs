//! The `stemdb` binary: command line, configuration file, wiring. No logic.
//!
//! Not here: what the subcommands do. `serve` joins `server` and `session` ([`sessions`] implements the
//! traits of the one with the other). `import` and `export` are in the crate `import`; `replay` and
//! `check-compat` in `replay`; `bench` and `demo` in `loadgen`.
//!
//! Where to go next: [`serve`], then `server`'s documentation for the way of a connection, `session`'s for that of a
//! statement.

mod allocator;
mod budget;
mod configuration;
mod metrics;
mod offline;
mod serve;
mod sessions;
mod spill;
mod store;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A MySQL 8 compatible database that starts on one machine and grows onto a TiKV cluster.
#[derive(Parser)]
#[command(name = "stemdb", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the database server until SIGTERM.
    Serve(serve::Arguments),
    /// Reads all files of a store that no server has open, and reports whether they are intact. Changes
    /// nothing.
    Check(offline::CheckArguments),
    /// Reports what a damaged log has lost and, with --accept-data-loss, lets the store start without it.
    Repair(offline::RepairArguments),
    /// Runs the order workload against a server and prints throughput and latencies.
    Demo(loadgen::DemoArguments),
    /// Measures any MySQL server with the workloads of the public record.
    #[command(subcommand)]
    Bench(loadgen::BenchCommand),
    /// Moves an application's data to StemDB: copies it from a live server and follows its changes until the
    /// switch, or loads dumps, CSV and Parquet files.
    Import(import::ImportArguments),
    /// Writes databases, as of one point in time, as SQL, CSV or Parquet.
    Export(import::ExportArguments),
    /// Runs the statements of a server's log again, and reports times, errors and differences.
    Replay(replay::ReplayArguments),
    /// Lists what in a dump or a log StemDB does not support, without running it.
    CheckCompat(replay::CheckCompatArguments),
}

fn main() -> ExitCode {
    // The server's log goes to standard error: standard output is for the ready line.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let result = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Check(arguments) => return offline::check(&arguments),
        Command::Repair(arguments) => return offline::repair(&arguments),
        Command::Demo(arguments) => loadgen::demo(&arguments).map_err(|e| e.to_string()),
        Command::Bench(command) => loadgen::bench(&command).map_err(|e| e.to_string()),
        Command::Import(arguments) => import::import(&arguments).map_err(|e| e.to_string()),
        Command::Export(arguments) => import::export(&arguments).map_err(|e| e.to_string()),
        Command::Replay(arguments) => replay::replay(&arguments).map_err(|e| e.to_string()),
        Command::CheckCompat(arguments) => replay::check_compat(&arguments).map_err(|e| e.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stemdb: {message}");
            ExitCode::FAILURE
        }
    }
}
