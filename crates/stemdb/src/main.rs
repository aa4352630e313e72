//! The `stemdb` binary: command line, configuration file, wiring. No logic.

mod configuration;
mod metrics;
mod serve;
mod sessions;
mod store;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by jemalloc when the process starts; `MALLOC_CONF` in the environment goes before it. There is a thread for each
/// active connection: what each may keep for itself is small, and what nobody uses goes back to the system soon; but a thread
/// that is at work looks less often for what it could give back, which the next statement would fetch again.
#[expect(
    unsafe_code,
    reason = "jemalloc finds it by its symbol, which nothing else has"
)]
#[unsafe(export_name = "malloc_conf")]
pub static MALLOC_CONF: &[u8] =
    b"background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,tcache_max:4096,tcache_nslots_small_max:32,tcache_gc_incr_bytes:262144\0";

/// A MySQL 8 compatible database that starts on one machine and grows onto a TiKV cluster.
#[derive(Parser)]
#[command(name = "stemdb", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the database server until it is told to stop.
    Serve(serve::Arguments),
    /// Runs the order workload against a server and prints throughput and latencies.
    Demo(loadgen::DemoArguments),
    /// Measures any MySQL server with the workloads of the public record.
    #[command(subcommand)]
    Bench(loadgen::BenchCommand),
}

fn main() -> ExitCode {
    // What the server has to say beside its answers: on standard error, since standard output is for the ready line.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let result = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Demo(arguments) => loadgen::demo(&arguments).map_err(|e| e.to_string()),
        Command::Bench(command) => loadgen::bench(&command).map_err(|e| e.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stemdb: {message}");
            ExitCode::FAILURE
        }
    }
}
