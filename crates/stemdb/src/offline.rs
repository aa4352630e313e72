//! `stemdb check` and `stemdb repair`: commands on the directory of a store that no server has open.

use std::path::PathBuf;
use std::process::ExitCode;

use kv_rocksdb::recovery::{self, Repaired};

/// Exit codes of `check`. `repair` exits with 1 if there is damage and it has changed nothing.
const DAMAGED: u8 = 1;
const NOT_CHECKED: u8 = 2;

/// Command line of `stemdb check`.
#[derive(clap::Args)]
pub struct CheckArguments {
    /// Directory of the store, as in rocksdb:DIR.
    dir: PathBuf,
}

/// Command line of `stemdb repair`.
#[derive(clap::Args)]
pub struct RepairArguments {
    /// Directory of the store, as in rocksdb:DIR.
    dir: PathBuf,
    /// Continue without the transactions in the damaged part of the log. Without this option nothing is
    /// changed.
    #[arg(long)]
    accept_data_loss: bool,
}

/// Prints what the directory holds and whether it is intact. Exit code: 0, 1 if it is damaged, 2 if it could
/// not be read.
pub fn check(arguments: &CheckArguments) -> ExitCode {
    match recovery::check(&arguments.dir) {
        Ok(checked) => {
            for fact in &checked.facts {
                println!("{fact}");
            }
            for damage in &checked.damage {
                println!("DAMAGED: {damage}");
            }
            if checked.damage.is_empty() {
                println!("{} is whole", arguments.dir.display());
                ExitCode::SUCCESS
            } else {
                ExitCode::from(DAMAGED)
            }
        }
        Err(error) => {
            eprintln!("stemdb: {error}");
            ExitCode::from(NOT_CHECKED)
        }
    }
}

/// Prints what is lost with the damaged part of the log, and cuts it off if --accept-data-loss is given.
pub fn repair(arguments: &RepairArguments) -> ExitCode {
    let dir = arguments.dir.display();
    match recovery::repair(&arguments.dir, arguments.accept_data_loss) {
        Ok(Repaired::NothingToDo) => {
            println!("{dir}: the log is whole, there is nothing to repair");
            ExitCode::SUCCESS
        }
        Ok(Repaired::Refused { loss }) => {
            println!("{loss}");
            println!(
                "Nothing was changed. `stemdb repair --accept-data-loss {dir}` copies the log and cuts it off there: these \
                 transactions are lost then"
            );
            ExitCode::from(DAMAGED)
        }
        Ok(Repaired::Done { loss, copies }) => {
            println!("{loss}");
            println!(
                "The log was cut off there. Its copy is {}; the store can be opened",
                copies.display()
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("stemdb: {error}");
            ExitCode::from(NOT_CHECKED)
        }
    }
}
