//! `stemdb replay`: sends a log's statements again, each connection's in its order, at the log's speed, a
//! multiple of it, or as fast as they are answered.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use loadgen::client::{Connection, Row, Value};
use loadgen::target::Target;

use crate::error::{Error, Result};
use crate::log::{Action, Entry, Log};
use crate::report;
use crate::tally::{Replayed, Tally};

/// Entries that wait for a connection that is slower than the log.
const AHEAD: usize = 1000;

#[derive(Debug, clap::Args)]
pub struct ReplayArguments {
    /// A general log or a slow log of MySQL or MariaDB.
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The server to send the statements to: `mysql://USER:PASSWORD@HOST:PORT/DB`
    #[arg(long, value_name = "DSN", default_value = "mysql://root@127.0.0.1:4000")]
    to: String,
    /// Times the speed of the log: 1, 2.5, max.
    #[arg(long, default_value = "1", value_parser = speed)]
    speed: Speed,
    /// The log's connections, or so many that share them. With fewer, sessions of the log meet in one.
    #[arg(long, default_value = "same", value_parser = connections)]
    connections: Connections,
    /// A second server with the same data. Statements run there, too, and their results are compared.
    #[arg(long, value_name = "DSN")]
    compare: Option<String>,
    /// Writes the report as a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Speed {
    Times(f64),
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connections {
    Same,
    Number(u64),
}

fn speed(text: &str) -> Result<Speed, String> {
    match text.parse::<f64>() {
        _ if text == "max" => Ok(Speed::Max),
        Ok(times) if times.is_finite() && times > 0.0 => Ok(Speed::Times(times)),
        _ => Err("a number above 0, or max".to_owned()),
    }
}

fn connections(text: &str) -> Result<Connections, String> {
    match text.parse::<u64>() {
        _ if text == "same" => Ok(Connections::Same),
        Ok(number) if (1..=10_000).contains(&number) => Ok(Connections::Number(number)),
        _ => Err("a number from 1 to 10000, or same".to_owned()),
    }
}

/// Runs `stemdb replay`.
pub fn replay(arguments: &ReplayArguments) -> Result<()> {
    let in_file = |source| Error::File {
        path: arguments.log.clone(),
        source,
    };
    let servers = Servers {
        first: Target::parse(&arguments.to, "")?,
        other: arguments
            .compare
            .as_deref()
            .map(|dsn| Target::parse(dsn, ""))
            .transpose()?,
    };
    // A server that does not answer is reported once, not for each connection.
    let server = Connection::open(&without_empty_database(&servers.first))?
        .server_version()
        .to_owned();
    let other = match &servers.other {
        Some(target) => Some(
            Connection::open(&without_empty_database(target))?
                .server_version()
                .to_owned(),
        ),
        None => None,
    };
    let mut log = Log::new(BufReader::new(File::open(&arguments.log).map_err(in_file)?));
    let mut player = Player::new(arguments, servers);
    for entry in &mut log {
        player.play(entry.map_err(in_file)?);
    }
    let tally = player.finish()?;
    if !log.is_known() {
        return Err(Error::NoLog(arguments.log.clone()));
    }
    let replayed = Replayed {
        log: arguments.log.display().to_string(),
        server,
        other,
        elapsed: tally.1,
        skipped: log.skipped(),
        tally: tally.0,
    };
    print!("{}", report::text(&replayed));
    if let Some(path) = &arguments.html {
        std::fs::write(path, report::html(&replayed)).map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?;
    }
    match replayed.tally.differences.values().map(|group| group.count).sum() {
        0 => Ok(()),
        count => Err(Error::Different(count)),
    }
}

#[derive(Debug, Clone)]
struct Servers {
    first: Target,
    other: Option<Target>,
}

fn without_empty_database(target: &Target) -> Target {
    match target.database() {
        "" => target.with_database(None),
        _ => target.clone(),
    }
}

/// What deals entries out to a worker, each with its time, and the worker's thread.
type RunningWorker = (SyncSender<(Instant, Entry)>, JoinHandle<Tally>);

/// Deals entries out to workers, each at its time.
struct Player {
    speed: Speed,
    connections: Connections,
    servers: Servers,
    start: Instant,
    /// The time of the log's first entry.
    first_us: Option<u64>,
    workers: HashMap<u64, RunningWorker>,
    /// Of workers that have ended.
    tally: Tally,
    ended: Vec<JoinHandle<Tally>>,
}

impl Player {
    fn new(arguments: &ReplayArguments, servers: Servers) -> Self {
        Self {
            speed: arguments.speed,
            connections: arguments.connections,
            servers,
            start: Instant::now(),
            first_us: None,
            workers: HashMap::new(),
            tally: Tally::default(),
            ended: Vec::new(),
        }
    }

    fn play(&mut self, entry: Entry) {
        let due = self.due(entry.at_us);
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        let worker = match self.connections {
            Connections::Same => entry.connection,
            Connections::Number(number) => entry.connection % number,
        };
        let ends = entry.action == Action::Quit && self.connections == Connections::Same;
        if ends {
            if let Some((_, thread)) = self.workers.remove(&worker) {
                self.ended.push(thread);
            }
            self.reap();
            return;
        }
        let start = self.start;
        let servers = &self.servers;
        let (sender, _) = self.workers.entry(worker).or_insert_with(|| {
            let (sender, entries) = sync_channel(AHEAD);
            let servers = servers.clone();
            (
                sender,
                std::thread::spawn(move || Worker::new(servers, start).run(&entries)),
            )
        });
        // A worker ends only when its sender is gone; one that panicked is found at the end.
        let _ = sender.send((due, entry));
    }

    fn due(&mut self, at_us: u64) -> Instant {
        let first = *self.first_us.get_or_insert(at_us);
        match self.speed {
            Speed::Max => Instant::now(),
            Speed::Times(times) => {
                let after = at_us.saturating_sub(first) as f64 / 1e6 / times;
                let after = Duration::try_from_secs_f64(after).unwrap_or_default();
                self.start.checked_add(after).unwrap_or(self.start)
            }
        }
    }

    fn reap(&mut self) {
        let (done, running) = std::mem::take(&mut self.ended)
            .into_iter()
            .partition::<Vec<_>, _>(JoinHandle::is_finished);
        self.ended = running;
        for thread in done {
            self.tally.merge(thread.join().unwrap_or_default());
        }
    }

    fn finish(mut self) -> Result<(Tally, Duration)> {
        let mut threads = std::mem::take(&mut self.ended);
        threads.extend(self.workers.drain().map(|(_, (_, thread))| thread));
        for thread in threads {
            self.tally.merge(thread.join().map_err(|_| Error::Thread)?);
        }
        Ok((self.tally, self.start.elapsed()))
    }
}

/// One connection of the log, or several that share one.
struct Worker {
    servers: Servers,
    start: Instant,
    connection: Option<Connection>,
    other: Option<Connection>,
    database: Option<String>,
    tally: Tally,
}

impl Worker {
    fn new(servers: Servers, start: Instant) -> Self {
        Self {
            servers,
            start,
            connection: None,
            other: None,
            database: None,
            tally: Tally::default(),
        }
    }

    fn run(mut self, entries: &Receiver<(Instant, Entry)>) -> Tally {
        while let Ok((due, entry)) = entries.recv() {
            match entry.action {
                Action::Connect(database) => self.use_database(database),
                Action::UseDatabase(database) => self.use_database(Some(database)),
                Action::Quit => {}
                Action::Statement(sql) => {
                    let late = due.elapsed().as_micros() as u64;
                    self.tally.latest_us = self.tally.latest_us.max(late);
                    self.statement(&sql, entry.line);
                }
            }
        }
        self.tally
    }

    fn use_database(&mut self, database: Option<String>) {
        let Some(database) = database else { return };
        let sql = format!("USE `{}`", database.replace('`', "``"));
        for connection in [&mut self.connection, &mut self.other].into_iter().flatten() {
            // Statements that need it fail, and are counted.
            let _ = connection.query(&sql);
        }
        self.database = Some(database);
    }

    fn open(&self, target: &Target) -> loadgen::Result<Connection> {
        let mut connection = Connection::open(&without_empty_database(target))?;
        if let Some(database) = &self.database {
            let _ = connection.query(&format!("USE `{}`", database.replace('`', "``")));
        }
        Ok(connection)
    }

    /// Opens the connections that are not open yet.
    fn connect(&mut self) -> loadgen::Result<()> {
        if self.connection.is_none() {
            self.connection = Some(self.open(&self.servers.first)?);
            self.tally.connections += 1;
        }
        if let (None, Some(target)) = (&self.other, &self.servers.other) {
            self.other = Some(self.open(target)?);
        }
        Ok(())
    }

    fn statement(&mut self, sql: &str, line: u64) {
        let begin = Instant::now();
        if let Err(error) = self.connect() {
            self.tally.failed(sql, line, error.code(), &error.to_string());
            return;
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        let compares = self.servers.other.is_some();
        let begin = if self.tally.statements() == 0 {
            Instant::now()
        } else {
            begin
        };
        let outcome = run(connection, sql, compares);
        let latency = begin.elapsed().as_micros() as u64;
        let second = begin.saturating_duration_since(self.start).as_secs();
        let kind = self.tally.ran(sql, latency, second);
        if let Err(error) = &outcome {
            kind.errors += 1;
            self.tally.failed(sql, line, error.code(), &error.to_string());
        }
        if outcome.as_ref().is_err_and(loadgen::Error::is_lost) {
            self.connection = None;
        }
        if let Some(other) = &mut self.other {
            let theirs = run(other, sql, true);
            if theirs.as_ref().is_err_and(loadgen::Error::is_lost) {
                self.other = None;
            }
            if is_repeatable(sql) {
                self.tally.compared += 1;
                if let Some(how) = difference(sql, &outcome, &theirs) {
                    self.tally.differs(sql, line, &how);
                }
            }
        }
    }
}

/// The result of a statement.
struct Outcome {
    rows: Vec<Row>,
    affected: u64,
}

fn run(connection: &mut Connection, sql: &str, with_rows: bool) -> loadgen::Result<Outcome> {
    if with_rows && returns_rows(sql) {
        let rows = connection.fetch_query(sql)?;
        return Ok(Outcome { rows, affected: 0 });
    }
    let done = connection.query(sql)?;
    Ok(Outcome {
        rows: Vec::new(),
        affected: done.affected_rows,
    })
}

fn returns_rows(sql: &str) -> bool {
    matches!(
        crate::tally::kind(sql).as_str(),
        "SELECT" | "WITH" | "TABLE" | "VALUES"
    )
}

/// Whether a statement gives the same on two servers with the same data: not the time, chance or an id.
fn is_repeatable(sql: &str) -> bool {
    const NOT: &[&str] = &[
        "NOW(",
        "CURRENT_TIMESTAMP",
        "SYSDATE(",
        "CURDATE(",
        "CURTIME(",
        "UNIX_TIMESTAMP(",
        "UTC_",
        "RAND(",
        "UUID",
        "CONNECTION_ID(",
        "VERSION(",
        "@@",
        "LAST_INSERT_ID(",
        "INFORMATION_SCHEMA",
        "PERFORMANCE_SCHEMA",
        "RANDOM_BYTES",
    ];
    let upper = sql.to_uppercase();
    !NOT.iter().any(|word| upper.contains(word))
        && !matches!(
            crate::tally::kind(sql).as_str(),
            "SHOW" | "EXPLAIN" | "SET" | "DESC" | "DESCRIBE"
        )
}

/// How two results differ, if they do. Rows without ORDER BY have no order.
fn difference(
    sql: &str,
    ours: &loadgen::Result<Outcome>,
    theirs: &loadgen::Result<Outcome>,
) -> Option<String> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if ours.affected != theirs.affected => Some(format!(
            "{} rows affected, {} on the second server",
            ours.affected, theirs.affected
        )),
        (Ok(ours), Ok(theirs)) if ours.rows.len() != theirs.rows.len() => Some(format!(
            "{} rows, {} on the second server",
            ours.rows.len(),
            theirs.rows.len()
        )),
        (Ok(ours), Ok(theirs)) => {
            let (mut ours, mut theirs) = (texts(&ours.rows), texts(&theirs.rows));
            if !sql.to_uppercase().contains("ORDER BY") {
                ours.sort_unstable();
                theirs.sort_unstable();
            }
            let (one, other) = ours.iter().zip(&theirs).find(|(one, other)| one != other)?;
            Some(format!("a row is {one}, {other} on the second server"))
        }
        (Err(ours), Err(theirs)) if ours.code() == theirs.code() => None,
        (Err(ours), Err(theirs)) => Some(format!("{ours}; on the second server: {theirs}")),
        (Err(ours), Ok(_)) => Some(format!("{ours}; the second server has no error")),
        (Ok(_), Err(theirs)) => Some(format!("no error; on the second server: {theirs}")),
    }
}

fn texts(rows: &[Row]) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    };
    let row = |row: &Row| format!("({})", row.0.iter().map(text).collect::<Vec<_>>().join(", "));
    rows.iter().map(row).collect()
}
