//! `stemdb bench`: the command line of the load generator.
//!
//! `prepare`, `run`, `check` and `cleanup` a workload of [`crate::registry`] on any MySQL server; `report`
//! makes a page of results. [`crate::runner`] runs workloads, [`crate::result`] defines the result file.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};

use crate::client::Connection;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::registry;
use crate::result::{BenchResult, ClientInfo, FORMAT, ServerInfo, Settings};
use crate::runner::{Plan, Process, Threads, rung};
use crate::table::{CheckList, RungTable, progress_line};
use crate::target::{Client, Target};
use crate::workload::{Checks, Context, Workload};

/// The arguments of `stemdb bench`.
#[derive(Debug, Clone, Subcommand)]
pub enum BenchCommand {
    /// Lists the workloads and their options.
    List,
    /// Creates and fills a workload's tables (tables of the same names are dropped).
    Prepare(TargetArguments),
    /// Runs a workload and prints what it measured.
    Run(RunArguments),
    /// Checks that a workload's tables are consistent.
    Check(TargetArguments),
    /// Drops a workload's tables.
    Cleanup(TargetArguments),
    /// Prints medians and ratios of results, and makes one HTML page of them, with charts.
    Report(ReportArguments),
}

#[derive(Debug, Clone, Args)]
pub struct ReportArguments {
    /// Files that `run --json` has written. Results with the same label and settings count as repeated runs.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The page to write.
    #[arg(long, default_value = "report.html", value_name = "FILE")]
    pub out: PathBuf,
    /// The label that ratios refer to. Default: the first one that is not StemDB.
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct TargetArguments {
    /// The workload's name; `stemdb bench list` shows all.
    pub workload: String,
    /// The server: mysql://user:password@host:port/database, with ?socket=/path for a Unix socket.
    #[arg(long, default_value = "mysql://root@127.0.0.1:4000")]
    pub dsn: String,
    /// The database, if the DSN names none. `prepare` creates it if it does not exist.
    #[arg(long, default_value = "stemdb_bench")]
    pub database: String,
    /// An option of the workload: name=value. Can be given several times.
    #[arg(short, long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub option: Vec<(String, String)>,
    /// Short for -o tables=N.
    #[arg(long, value_name = "N")]
    pub tables: Option<u64>,
    /// Short for -o table-size=N.
    #[arg(long, value_name = "N")]
    pub table_size: Option<u64>,
    /// Short for -o scale=N.
    #[arg(long, value_name = "N")]
    pub scale: Option<String>,
    /// The seed of random choices. By default, rows are always prepared from the same seed, and every run has
    /// another one (an update that writes what is already stored would cost less).
    #[arg(long)]
    pub seed: Option<u64>,
    /// Connections that fill tables.
    #[arg(long, default_value_t = 4)]
    pub load_threads: usize,
}

#[derive(Debug, Clone, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    /// Connections, one thread each: a list (1,8,64), or `ladder`, which doubles until throughput stops
    /// growing.
    #[arg(long, default_value = "16")]
    pub threads: Threads,
    /// How long to measure, in seconds, for each number of threads.
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// How long to run before that, in seconds.
    #[arg(long, default_value_t = 3.0)]
    pub warm_up: f64,
    /// Open loop: this many operations per second over all threads. Latency counts from the time at which an
    /// operation was due.
    #[arg(long)]
    pub rate: Option<f64>,
    /// Ends after this many operations, including those of the warm-up.
    #[arg(long)]
    pub operations: Option<u64>,
    /// Sends statements as text instead of preparing them.
    #[arg(long)]
    pub text: bool,
    /// The implementation of connections.
    #[arg(long, value_enum, default_value_t)]
    pub client: Client,
    /// Seconds between lines of progress, and between points of the series.
    #[arg(long, default_value_t = 1.0)]
    pub interval: f64,
    /// For how many seconds to try to reopen a lost connection.
    #[arg(long, default_value_t = 0.0)]
    pub reconnect: f64,
    /// Writes the result to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The name of the result in reports. Default: the server's name.
    #[arg(long)]
    pub label: Option<String>,
    /// The server's process, for its CPU time and memory. By default it is found by its port.
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// No lines of progress.
    #[arg(long)]
    pub quiet: bool,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("an option is name=value".to_owned()),
    }
}

/// Runs a command. A failure is reported in one line. A run that fails writes what it has measured so far.
pub fn bench(command: &BenchCommand) -> Result<()> {
    match command {
        BenchCommand::List => list(),
        BenchCommand::Prepare(arguments) => prepare(arguments),
        BenchCommand::Run(arguments) => run(arguments),
        BenchCommand::Check(arguments) => check(arguments),
        BenchCommand::Cleanup(arguments) => {
            let (workload, context) = arguments.resolve()?;
            workload.cleanup(&context)
        }
        BenchCommand::Report(arguments) => {
            let out = &arguments.out;
            let text = crate::report::report(&arguments.files, out, arguments.baseline.as_deref())?;
            print(format!("{text}\n\npage: {}", out.display()))
        }
    }
}

impl TargetArguments {
    fn resolve(&self) -> Result<(Box<dyn Workload>, Context)> {
        let spec = registry::find(&self.workload)?;
        let mut given = self.option.clone();
        let mut short = |name: &str, value: Option<String>| {
            given.extend(value.map(|value| (name.to_owned(), value)));
        };
        short("tables", self.tables.map(|n| n.to_string()));
        short("table-size", self.table_size.map(|n| n.to_string()));
        short("scale", self.scale.clone());
        let options = Options::resolve(spec.name, spec.options, &given)?;
        let workload = (spec.build)(&options)?;
        let context = Context {
            target: Target::parse(&self.dsn, &self.database)?,
            options,
            seed: self.seed.unwrap_or(1),
            load_threads: self.load_threads,
        };
        Ok((workload, context))
    }
}

fn print(text: impl std::fmt::Display) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(Error::Output)
}

fn list() -> Result<()> {
    let mut text = String::new();
    for spec in registry::all() {
        text += &format!("{:<28} {}\n", spec.name, spec.summary);
        for option in spec.options {
            text += &format!(
                "    -o {}={}\n        {}\n",
                option.name, option.default, option.help
            );
        }
    }
    print(text.trim_end())
}

fn prepare(arguments: &TargetArguments) -> Result<()> {
    let (workload, context) = arguments.resolve()?;
    let mut connection = Connection::open(&context.target.with_database(None))?;
    let name = context.target.database().replace('`', "``");
    connection.query(&format!("CREATE DATABASE IF NOT EXISTS `{name}`"))?;
    workload.prepare(&context)
}

fn check(arguments: &TargetArguments) -> Result<()> {
    let (workload, context) = arguments.resolve()?;
    let mut checks = Checks::default();
    workload.check(&context, &mut checks)?;
    print(CheckList(&checks).to_string().trim_end())?;
    match checks.failed() {
        0 => Ok(()),
        failed => Err(Error::Checks {
            failed,
            all: checks.list.len(),
        }),
    }
}

impl RunArguments {
    fn seconds(name: &str, value: f64, zero_allowed: bool) -> Result<Duration> {
        match Duration::try_from_secs_f64(value) {
            Ok(time) if zero_allowed || !time.is_zero() => Ok(time),
            _ => Err(Error::Arguments(format!(
                "{name} must be a number of seconds, not {value}"
            ))),
        }
    }

    fn plan(&self, server: Option<Process>) -> Result<Plan> {
        if let Some(rate) = self.rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return Err(Error::Arguments(format!("rate must be above zero, not {rate}")));
        }
        Ok(Plan {
            threads: 0,
            rate: self.rate,
            warm_up: Self::seconds("warm-up", self.warm_up, true)?,
            time: Self::seconds("seconds", self.seconds, false)?,
            operations_max: self.operations,
            interval: Self::seconds("interval", self.interval, false)?,
            reconnect: Self::seconds("reconnect", self.reconnect, true)?,
            server,
        })
    }

    fn settings(&self, context: &Context) -> Settings {
        Settings {
            dsn: context.target.shown(),
            protocol: if self.text { "text" } else { "prepared" }.to_owned(),
            client: self.client.to_string(),
            r#loop: if self.rate.is_some() { "open" } else { "closed" }.to_owned(),
            rate: self.rate,
            seconds: self.seconds,
            warm_up_seconds: self.warm_up,
            seed: context.seed,
            options: context
                .options
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }
}

fn run(arguments: &RunArguments) -> Result<()> {
    let (workload, mut context) = arguments.target.resolve()?;
    context.target.text_protocol = arguments.text;
    context.target.client = arguments.client;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    context.seed = arguments.target.seed.unwrap_or(now.as_micros() as u64);
    // Wrong arguments are reported before the first connection.
    arguments.plan(None)?;
    let (server, process) = look_at(&context.target, arguments.server_pid)?;
    let plan = arguments.plan(process)?;
    let mut result = BenchResult {
        format: FORMAT,
        workload: arguments.target.workload.clone(),
        label: arguments.label.clone().unwrap_or_else(|| short_name(&server)),
        started_at: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_secs()),
        server,
        client: ClientInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
        },
        settings: arguments.settings(&context),
        rungs: Vec::new(),
        failure: None,
    };
    let ended = climb(workload.as_ref(), &context, arguments, plan, &mut result);
    result.failure = ended.as_ref().err().map(ToString::to_string);
    if let Some(path) = &arguments.json {
        result.write(path)?;
    }
    ended
}

/// The server's name and process.
fn look_at(target: &Target, pid: Option<u32>) -> Result<(ServerInfo, Option<Process>)> {
    let mut connection = Connection::open(target)?;
    let comment = connection.fetch_query("SELECT @@version_comment")?;
    let process = match (pid, target.socket()) {
        (Some(pid), _) => Some(Process { pid }),
        (None, Some(path)) => Process::listening_at(path),
        (None, None) if connection.is_local() => Process::listening_on(target.port()),
        (None, None) => None,
    };
    let info = ServerInfo {
        version: connection.server_version().to_owned(),
        comment: comment
            .first()
            .map(|row| row.text(0))
            .transpose()?
            .unwrap_or_default(),
        pid: process.map(|process| process.pid),
    };
    Ok((info, process))
}

fn short_name(server: &ServerInfo) -> String {
    for name in ["StemDB", "MariaDB", "TiDB", "Percona"] {
        if server.version.contains(name) || server.comment.contains(name) {
            return name.to_owned();
        }
    }
    let number = server.version.split('-').next().unwrap_or_default();
    format!("MySQL {number}")
}

/// Runs all numbers of threads. `result` holds what was measured, also after a failure.
fn climb(
    workload: &dyn Workload,
    context: &Context,
    arguments: &RunArguments,
    mut plan: Plan,
    result: &mut BenchResult,
) -> Result<()> {
    let mut throughputs = Vec::new();
    while let Some(threads) = arguments.threads.next(&throughputs) {
        plan.threads = threads;
        workload.open(context)?;
        let rung = rung::run(workload, context, &plan, &mut |interval| {
            if !arguments.quiet {
                // An error of the terminal must not stop the work.
                let _ = writeln!(io::stderr(), "{}", progress_line(threads, interval));
            }
        })?;
        throughputs.push(rung.throughput);
        let failure = rung.failure.clone();
        let written = print(format!("\n{}", RungTable(&rung)));
        result.rungs.push(rung);
        written?;
        if let Some(failure) = failure {
            return Err(Error::EndedEarly(failure));
        }
    }
    if result.successes() == 0 {
        let first = result.rungs.iter().flat_map(|rung| &rung.errors).next();
        return Err(Error::NothingWorked(
            first.map_or_else(|| "none".to_owned(), |error| error.message.clone()),
        ));
    }
    Ok(())
}
