//! The demo against any MySQL server, without the StemDB binary: `cargo run -p stemdb-loadgen --example
//! demo -- --dsn ...`.

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    demo: loadgen::DemoArguments,
}

fn main() -> ExitCode {
    match loadgen::demo(&Arguments::parse().demo) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
