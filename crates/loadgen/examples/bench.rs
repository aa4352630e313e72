//! `stemdb bench` without the StemDB binary: `cargo run --release -p stemdb-loadgen --example bench --
//! list`.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: loadgen::BenchCommand,
}

fn main() -> ExitCode {
    match loadgen::bench(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
