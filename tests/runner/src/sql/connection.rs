//! One connection of a script, on a thread of its own, so that a statement can be left waiting.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, LocalInfileHandler, Opts, Params, QueryResult, ResultSet};

use super::answer;
use super::script::Options;
use crate::literal;

/// A statement that takes longer is a hang.
const ANSWER_SECONDS_MAX: u64 = 60;

/// An account whose password has expired may only change it.
const ER_MUST_CHANGE_PASSWORD: u16 = 1820;

/// Warnings about features that a future MySQL will remove. StemDB does not give them.
const DEPRECATIONS: [u16; 7] = [1287, 1681, 3090, 3135, 3719, 3720, 4095];

pub struct Connection {
    pub id: u32,
    requests: Sender<(String, Options)>,
    answers: Receiver<Vec<String>>,
    /// Whether a statement was sent and its result has not been read.
    pub busy: bool,
}

impl Connection {
    /// Connects and runs `setup`.
    pub fn open(opts: Opts, setup: &[String]) -> Result<Self, mysql::Error> {
        let mut conn = Conn::new(opts)?;
        // The file that LOAD DATA LOCAL reads has its own name as contents.
        conn.set_local_infile_handler(Some(LocalInfileHandler::new(|name, file| file.write_all(name))));
        for statement in setup {
            match conn.query_drop(statement) {
                Err(mysql::Error::MySqlError(error)) if error.code == ER_MUST_CHANGE_PASSWORD => {}
                done => done?,
            }
        }
        let id = conn.connection_id();
        let (requests, inbox) = mpsc::channel::<(String, Options)>();
        let (outbox, answers) = mpsc::channel();
        thread::spawn(move || {
            while let Ok((sql, options)) = inbox.recv() {
                if outbox.send(run(&mut conn, &sql, &options)).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            id,
            requests,
            answers,
            busy: false,
        })
    }

    pub fn send(&mut self, sql: &str, options: &Options) {
        self.busy = self.requests.send((sql.to_string(), options.clone())).is_ok();
    }

    /// The result of the last statement, or `None` if it is still waiting after `patience`.
    pub fn poll(&mut self, patience: Duration) -> Option<Vec<String>> {
        match self.answers.recv_timeout(patience) {
            Ok(lines) => {
                self.busy = false;
                Some(lines)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(vec!["connection lost".to_string()]),
        }
    }

    pub fn collect(&mut self) -> Vec<String> {
        self.poll(Duration::from_secs(ANSWER_SECONDS_MAX))
            .unwrap_or_else(|| vec![format!("no answer within {ANSWER_SECONDS_MAX} s")])
    }
}

fn run(conn: &mut Conn, sql: &str, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    let outcome = match &options.bind {
        None => conn
            .query_iter(sql)
            .and_then(|result| read(result, sql, options, &mut lines)),
        Some(values) => execute(conn, sql, values, options, &mut lines),
    };
    match outcome {
        Err(e) => lines.push(answer::error(&e, options.code_only)),
        Ok(()) if conn.warnings() > 0 => push_warnings(conn, &mut lines),
        Ok(()) => {}
    }
    lines
}

fn execute(
    conn: &mut Conn,
    sql: &str,
    values: &str,
    options: &Options,
    lines: &mut Vec<String>,
) -> Result<(), mysql::Error> {
    let values = match literal::parse_list(values) {
        Ok(values) => values,
        Err(e) => {
            lines.push(format!("script error: {e}"));
            return Ok(());
        }
    };
    let statement = conn.prep(sql)?;
    let params = if values.is_empty() {
        Params::Empty
    } else {
        Params::Positional(values)
    };
    let result = conn.exec_iter(&statement, params)?;
    read(result, sql, options, lines)
}

/// Reads every result of a statement; each after the first is below a `--`.
fn read<P: Protocol>(
    mut result: QueryResult<'_, '_, '_, P>,
    sql: &str,
    options: &Options,
    lines: &mut Vec<String>,
) -> Result<(), mysql::Error> {
    let sorted = has_no_order(sql);
    let mut first = true;
    while let Some(set) = result.iter() {
        if !std::mem::take(&mut first) {
            lines.push("--".to_string());
        }
        read_set(set, sorted, options, lines)?;
    }
    Ok(())
}

fn read_set<P: Protocol>(
    mut set: ResultSet<'_, '_, '_, '_, P>,
    sorted: bool,
    options: &Options,
    lines: &mut Vec<String>,
) -> Result<(), mysql::Error> {
    let columns = set.columns().as_ref().to_vec();
    if columns.is_empty() {
        let insert_id = set.last_insert_id().filter(|_| !options.no_id);
        let done = match options.no_count {
            true => answer::done(0, insert_id, ""),
            false => answer::done(set.affected_rows(), insert_id, &set.info_str()),
        };
        // A failed statement of several is a result with one failed row.
        if let Some(row) = set.next() {
            row?;
        }
        lines.push(done);
        return Ok(());
    }
    if options.meta {
        lines.extend(columns.iter().map(answer::meta));
    }
    if options.types {
        lines.extend(columns.iter().map(answer::kind));
    }
    let mut rows = Vec::new();
    let mut failure = Ok(());
    for row in set {
        match row {
            Ok(row) => rows.push(answer::row(&columns, &row.unwrap())),
            Err(e) => failure = Err(e),
        }
    }
    // Whether columns were announced before the first row failed depends on how far the server reads ahead.
    if failure.is_ok() || !rows.is_empty() {
        lines.push(answer::header(&columns));
    }
    if sorted {
        rows.sort();
    }
    lines.extend(rows);
    failure
}

/// Rows of a SELECT without ORDER BY are compared sorted, as are those of SHOW PRIVILEGES, whose order in MySQL
/// is that of a hash table.
fn has_no_order(sql: &str) -> bool {
    let upper = sql.to_ascii_uppercase();
    let upper = upper.trim_start();
    upper.starts_with("SELECT") && !upper.contains("ORDER BY") || upper.starts_with("SHOW PRIVILEGES")
}

/// Sorted, because a server that processes many rows at once finds them in another order.
fn push_warnings(conn: &mut Conn, lines: &mut Vec<String>) {
    match conn.query::<(String, u16, String), _>("SHOW WARNINGS") {
        Ok(warnings) => {
            let mut warnings: Vec<String> = warnings
                .iter()
                .filter(|(_, code, _)| !DEPRECATIONS.contains(code))
                .map(|(level, code, message)| answer::warning(level, *code, message))
                .collect();
            warnings.sort();
            lines.extend(warnings);
        }
        Err(e) => lines.push(format!("SHOW WARNINGS: {}", answer::error(&e, false))),
    }
}
