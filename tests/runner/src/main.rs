//! `stemdb-tests`: runs the black-box tests. See `tests/README.md` for the commands.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use mysql::Opts;

use stemdb_tests::agree::Several;
use stemdb_tests::clients::CLIENTS;
use stemdb_tests::logic::{self, Choice};
use stemdb_tests::report::Report;
use stemdb_tests::server::{Address, Program, Server};
use stemdb_tests::sql::corpus::{self, Selection};
use stemdb_tests::sql::play::Route;
use stemdb_tests::{
    agree, bulk_load, clients, concurrency, crash, lifecycle, limits, memory, moving, protocol, rust_client,
    server_files, tikv, workloads,
};

#[derive(Parser)]
#[command(about = "StemDB's black-box tests")]
struct Cli {
    /// Also prints a line for each passed check.
    #[arg(long, global = true)]
    verbose: bool,
    #[command(flatten)]
    target: Target,
    #[command(subcommand)]
    command: Command,
}

/// The server under test. By default each suite starts its own, with the `stemdb` next to this program.
#[derive(Args)]
struct Target {
    /// A running server (default: the environment variable DSN): mysql://root@127.0.0.1:4000
    #[arg(long, global = true)]
    dsn: Option<String>,
    /// The Unix socket of the running server.
    #[arg(long, global = true)]
    socket: Option<PathBuf>,
    /// The running server is MySQL: skip features that only StemDB has.
    #[arg(long, global = true)]
    mysql: bool,
    /// The stemdb binary to start.
    #[arg(long, global = true)]
    stemdb: Option<PathBuf>,
    /// The store to serve, as in `stemdb serve --store` [default: RocksDB in a temporary directory]
    #[arg(long, global = true)]
    store: Option<String>,
    /// Start MySQL instead, from this installation directory.
    #[arg(long, global = true)]
    mysqld: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// The SQL corpus: scripts with the results of MySQL.
    Sql(SqlArgs),
    /// The public sqllogictest corpus, a sample of it.
    Logic(LogicArgs),
    /// Lost updates, the bank's sum, deadlocks, races for unique keys, snapshots.
    Concurrency,
    /// Random queries, which both executors (and a MySQL, if there is one) must answer alike.
    Agree(AgreeArgs),
    /// Commands and packets that clients rarely or never send.
    Protocol,
    /// The `mysql` crate.
    RustClient,
    /// Real clients: Go, Python, Node, Java, Debian's tools, sysbench, and applications.
    Clients(ClientsArgs),
    /// Workloads of `stemdb bench` with known results.
    Workloads,
    /// Starting, stopping, configuration, status. Only for StemDB.
    Lifecycle,
    /// import --from, replay and check-compat. Only for StemDB.
    Moving,
    /// More data than memory. Only for StemDB.
    Limits,
    /// Many large sorts at once, within a memory limit. Only for StemDB.
    Memory(MemoryArgs),
    /// Suites on a TiKV cluster: on the stand-in, or on the cluster that --store names. Only for StemDB.
    Tikv(TikvArgs),
    /// kill -9 under load.
    Crash(CrashArgs),
    /// All suites.
    All(CrashArgs),
}

#[derive(Args, Default)]
struct SqlArgs {
    /// The directory of the scripts [default: tests/sql]
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Write the server's results into the scripts instead of comparing (or set UPDATE=1).
    #[arg(long)]
    update: bool,
    /// The executor that runs queries; default: all three settings, one after the other.
    #[arg(long, value_enum)]
    route: Vec<Route>,
    /// Run only scripts whose path contains one of these.
    filters: Vec<String>,
}

#[derive(Args, Default)]
struct LogicArgs {
    /// All files and queries, which takes hours.
    #[arg(long)]
    full: bool,
    /// The executor that runs queries; default: all three settings.
    #[arg(long, value_enum)]
    route: Vec<Route>,
    /// Run only files whose path contains one of these.
    filters: Vec<String>,
}

#[derive(Args)]
struct AgreeArgs {
    /// A running MySQL, which must answer the queries over several tables alike: mysql://root@127.0.0.1:3306
    #[arg(long)]
    judge: Option<String>,
    /// The seed of the queries over several tables.
    #[arg(long)]
    seed: Option<u64>,
    /// How many schemas to make for them.
    #[arg(long)]
    rounds: Option<u64>,
    /// Runs each query without each rule of the optimizer in turn, not without a few.
    #[arg(long)]
    every_rule: bool,
}

impl AgreeArgs {
    fn several(&self) -> Result<Several, String> {
        let usual = Several::default();
        let judge = self.judge.as_deref().map(Opts::from_url).transpose();
        Ok(Several {
            judge: judge.map_err(|e| e.to_string())?,
            seed: self.seed.unwrap_or(usual.seed),
            rounds: self.rounds.unwrap_or(usual.rounds),
            every_rule: self.every_rule,
        })
    }
}

#[derive(Args)]
struct MemoryArgs {
    /// Twenty clients that sort 300 MB each, with a memory limit of 2 GiB. Takes minutes, and 10 GB of disk
    /// for spilled data.
    #[arg(long)]
    full: bool,
}

#[derive(Args)]
struct ClientsArgs {
    /// Run only these clients.
    names: Vec<String>,
}

#[derive(Args, Default)]
struct TikvArgs {
    /// A shell command that causes a fault in the cluster of --store and repairs it. `faults` runs one in
    /// each round.
    #[arg(long)]
    harm: Vec<String>,
    /// Run only these suites.
    names: Vec<String>,
}

#[derive(Args)]
struct CrashArgs {
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut report = Report::new(cli.verbose);
    let outcome = run(cli.command, &cli.target, &mut report);
    if let Err(e) = outcome {
        report.fail("start", &e);
    }
    report.finish()
}

fn run(command: Command, target: &Target, report: &mut Report) -> Result<(), String> {
    match command {
        Command::Sql(args) => on_a_server(target, report, |address, report| sql(args, address, report))?,
        Command::Logic(args) => {
            let server = target.server(Reads::Trusted)?;
            logic(args, &server.address, report)?;
        }
        Command::Concurrency => on_a_server(target, report, concurrency::check)?,
        Command::Agree(args) => {
            let several = args.several()?;
            on_a_server(target, report, |address, report| {
                agree::check(address, &several, report);
            })?;
        }
        Command::Protocol => on_a_server(target, report, protocol::check)?,
        Command::RustClient => on_a_server(target, report, rust_client::check)?,
        Command::Clients(args) => {
            let server = target.server(Reads::Compared)?;
            clients(&args.names, &server.address, report)?;
            server.end(report);
        }
        Command::Workloads => on_a_server(target, report, workloads::check)?,
        Command::Lifecycle => lifecycle::check(&target.program()?, report),
        Command::Moving => moving::check(&target.program()?, report),
        Command::Limits => {
            let program = target.program()?;
            limits::check(&program, report);
            bulk_load::check(&program, report);
            server_files::check(&program, report);
        }
        Command::Memory(args) => {
            let scale = match args.full {
                true => memory::Scale::full(),
                false => memory::Scale::small(),
            };
            memory::check(&target.program()?, &scale, report);
        }
        Command::Tikv(args) => tikv(&args, target, report)?,
        Command::Crash(args) => crash::check(target.program()?, args.rounds, args.seed, report),
        Command::All(args) => {
            let server = target.server(Reads::Compared)?;
            sql(SqlArgs::default(), &server.address, report);
            rust_client::check(&server.address, report);
            protocol::check(&server.address, report);
            concurrency::check(&server.address, report);
            agree::check(&server.address, &Several::default(), report);
            clients(&[], &server.address, report)?;
            workloads::check(&server.address, report);
            server.end(report);
            let server = target.server(Reads::Trusted)?;
            logic(LogicArgs::default(), &server.address, report)?;
            drop(server);
            lifecycle::check(&target.program()?, report);
            moving::check(&target.program()?, report);
            limits::check(&target.program()?, report);
            bulk_load::check(&target.program()?, report);
            server_files::check(&target.program()?, report);
            memory::check(&target.program()?, &memory::Scale::small(), report);
            tikv(&TikvArgs::default(), target, report)?;
            crash::check(target.program()?, args.rounds, args.seed, report);
        }
    }
    Ok(())
}

fn on_a_server(
    target: &Target,
    report: &mut Report,
    suite: impl FnOnce(&Address, &mut Report),
) -> Result<(), String> {
    let server = target.server(Reads::Compared)?;
    suite(&server.address, report);
    server.end(report);
    Ok(())
}

/// Clients are built next to this program, so that the next run finds them.
fn clients(names: &[String], address: &Address, report: &mut Report) -> Result<(), String> {
    clients::check(address, Path::new(CLIENTS), &clients_out()?, names, report);
    Ok(())
}

fn tikv(args: &TikvArgs, target: &Target, report: &mut Report) -> Result<(), String> {
    let setting = tikv::Setting {
        binary: &target.binary()?,
        clients_out: &clients_out()?,
        store: target.store.as_deref(),
        harms: &args.harm,
    };
    tikv::check(&setting, &args.names, report);
    Ok(())
}

fn clients_out() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|e| e.to_string())?;
    Ok(program.with_file_name("clients"))
}

fn sql(args: SqlArgs, address: &Address, report: &mut Report) {
    let selection = Selection {
        directory: args.directory.unwrap_or_else(|| PathBuf::from("tests/sql")),
        filters: args.filters,
    };
    let opts = address.opts();
    if args.update || env::var("UPDATE").is_ok_and(|v| v == "1") {
        corpus::record(&selection, &opts, address.stemdb, report);
        return;
    }
    let routes = routes(address, args.route);
    corpus::check(&selection, &opts, address.stemdb, &routes, report);
}

fn logic(args: LogicArgs, address: &Address, report: &mut Report) -> Result<(), String> {
    let choice = Choice {
        full: args.full,
        filters: args.filters,
        routes: routes(address, args.route),
    };
    logic::check(address, &clients_out()?.join("sqllogictest"), &choice, report);
    Ok(())
}

/// The named routes, or all that the server has.
fn routes(address: &Address, named: Vec<Route>) -> Vec<Route> {
    match (address.stemdb, named.is_empty()) {
        (false, _) => vec![Route::Planner],
        (true, true) => vec![Route::Planner, Route::Transactional, Route::Analytical],
        (true, false) => named,
    }
}

/// Whether a server compares each read from the row cache with the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    Compared,
    Trusted,
}

/// A server under test.
struct Running {
    address: Address,
    own: Option<Server>,
}

impl Running {
    /// Checks the server's log for errors that a suite may not have noticed.
    fn end(self, report: &mut Report) {
        if let Some(server) = &self.own {
            report.check(
                "what the row cache answered is what is stored",
                server.check_log(),
            );
        }
    }
}

impl Target {
    fn server(&self, reads: Reads) -> Result<Running, String> {
        if let Some(dsn) = self.dsn.clone().or_else(|| env::var("DSN").ok()) {
            let opts = Opts::from_url(&dsn).map_err(|e| e.to_string())?;
            return Ok(Running {
                address: Address {
                    host: opts.get_ip_or_hostname().into_owned(),
                    port: opts.get_tcp_port(),
                    socket: self.socket.clone(),
                    status_port: None,
                    process: None,
                    stemdb: !self.mysql,
                    large_rows: true,
                },
                own: None,
            });
        }
        let mut server = Server::prepare(self.program()?, &[])?;
        if reads == Reads::Compared {
            server.compare_cached_reads();
        }
        server.run()?;
        Ok(Running {
            address: server.address.clone(),
            own: Some(server),
        })
    }

    fn program(&self) -> Result<Program, String> {
        if let Some(base) = &self.mysqld {
            return Ok(Program::Mysqld(base.clone()));
        }
        Ok(Program::StemDb {
            binary: self.binary()?,
            store: self.store.clone(),
        })
    }

    fn binary(&self) -> Result<PathBuf, String> {
        let beside = || Some(env::current_exe().ok()?.with_file_name("stemdb"));
        let binary = self
            .stemdb
            .clone()
            .or_else(beside)
            .ok_or("where is the stemdb binary? --stemdb PATH")?;
        if !binary.exists() {
            return Err(format!(
                "{} is not there; `make build` builds it",
                binary.display()
            ));
        }
        Ok(binary)
    }
}
