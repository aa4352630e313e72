//! `stemdb-tests`: runs the black-box tests. See `tests/README.md` for the commands.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use mysql::{Opts, OptsBuilder};

use stemdb_tests::report::Report;
use stemdb_tests::sql::corpus::{self, Selection};
use stemdb_tests::sql::play::Route;

#[derive(Parser)]
#[command(about = "StemDB's black-box tests")]
struct Cli {
    /// A line for each passed check too.
    #[arg(long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The SQL corpus: scripts and MySQL's answers.
    Sql(SqlArgs),
}

#[derive(Args)]
struct SqlArgs {
    /// The server to ask: mysql://user@host:port (or the environment's DSN).
    #[arg(long)]
    dsn: Option<String>,
    #[arg(long, default_value = "tests/sql")]
    directory: PathBuf,
    /// Write the server's answers into the scripts instead of comparing (or UPDATE=1 in the environment).
    #[arg(long)]
    update: bool,
    /// The server is not StemDB: no routes, and no scripts about what only StemDB has.
    #[arg(long)]
    mysql: bool,
    /// Only scripts whose path contains one of these.
    filters: Vec<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut report = Report::new(cli.verbose);
    let outcome = match cli.command {
        Command::Sql(args) => sql(args, &mut report),
    };
    if let Err(e) = outcome {
        eprintln!("{e}");
        return ExitCode::FAILURE;
    }
    report.finish()
}

fn sql(args: SqlArgs, report: &mut Report) -> Result<(), String> {
    let dsn = args
        .dsn
        .or_else(|| env::var("DSN").ok())
        .ok_or("name the server: --dsn mysql://root@127.0.0.1:4000")?;
    let opts = Opts::from_url(&dsn).map_err(|e| e.to_string())?;
    let opts: Opts = OptsBuilder::from_opts(opts).prefer_socket(false).into();
    let selection = Selection {
        directory: args.directory,
        filters: args.filters,
    };
    if args.update || env::var("UPDATE").is_ok_and(|v| v == "1") {
        corpus::record(&selection, &opts, !args.mysql, report);
    } else if args.mysql {
        corpus::check(&selection, &opts, false, &[Route::Planner], report);
    } else {
        let routes = [Route::Planner, Route::Transactional, Route::Analytical];
        corpus::check(&selection, &opts, true, &routes, report);
    }
    Ok(())
}
