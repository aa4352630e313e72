//! Measurements of statements: `performance_schema`'s summaries by digest, and the slow and the general log.
//!
//! A plan has the number of its digest ([`planner::CachedPlan::digest`]), so an execution of a plan finds its
//! counters without a lookup. [`digests`] has the counters, and [`histogram`] their latencies. Each session also has
//! sums [`by_name`] of events. [`sums`] says what is summed up. [`table_io`] counts the rows of each table and index. [`event`] is what one statement adds, at its end ([`observe`]). [`history`] has the last statements of each session. [`log_file`] writes logs without ever
//! blocking a statement. [`tables`] makes the rows of `performance_schema`.

pub mod by_name;
pub mod digests;
pub mod event;
pub mod event_name;
pub mod general_log;
mod histogram;
pub mod history;
mod log_file;
mod log_time;
pub mod memory;
pub mod observe;
pub mod slow_log;
pub mod sums;
pub mod table_io;
pub mod tables;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use types::{Error, Result, SqlMode};

use crate::variables::GlobalVariables;
use digests::Digests;
use log_file::{LogFile, LogRows};
use table_io::TableIo;

/// `max_digest_length`.
pub const DIGEST_BYTES_MAX: usize = 1024;

/// The digest of a long text is computed from its beginning, because the rows of an INSERT all have the same
/// form.
const DIGESTED_BYTES_MAX: usize = 64 << 10;

/// The measurements of one server.
pub struct Events {
    /// `performance_schema`; it does not change while the server runs.
    is_on: bool,
    pub digests: Digests,
    pub table_io: TableIo,
    pub slow_log: Log,
    pub general_log: Log,
    /// `log_queries_not_using_indexes`
    without_index: AtomicBool,
    /// `log_slow_admin_statements`
    administration: AtomicBool,
}

/// A log, as a file and as a table.
pub struct Log {
    /// Whether it is written to a file or a table.
    is_on: AtomicBool,
    to_file: AtomicBool,
    to_table: AtomicBool,
    file: LogFile,
    pub rows: LogRows,
}

impl Log {
    fn new() -> Self {
        Self {
            is_on: AtomicBool::new(false),
            to_file: AtomicBool::new(false),
            to_table: AtomicBool::new(false),
            file: LogFile::default(),
            rows: LogRows::default(),
        }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    fn configure(&self, variables: &GlobalVariables, name: &str, header: fn(&GlobalVariables) -> String) {
        let output = text(variables, "log_output");
        let has = |word: &str| output.split(',').any(|o| o.trim().eq_ignore_ascii_case(word));
        let is_on = variables.boolean(name) && !has("NONE");
        let to_file = is_on && has("FILE");
        if to_file {
            let path = text(variables, &format!("{name}_file"));
            self.file.open(&path, header(variables));
        }
        self.to_file.store(to_file, Ordering::Relaxed);
        self.to_table.store(is_on && has("TABLE"), Ordering::Relaxed);
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// `FLUSH ... LOGS`: the file may have been moved away.
    pub fn reopen(&self) {
        self.file.reopen();
    }
}

fn text(variables: &GlobalVariables, name: &str) -> String {
    let value = crate::variables::lookup(name).and_then(|d| variables.get(d));
    value.map(|value| value.to_string()).unwrap_or_default()
}

impl Events {
    pub fn new(variables: &GlobalVariables) -> Self {
        Self {
            is_on: variables.boolean("performance_schema"),
            digests: Digests::default(),
            table_io: TableIo::default(),
            slow_log: Log::new(),
            general_log: Log::new(),
            without_index: AtomicBool::new(false),
            administration: AtomicBool::new(false),
        }
    }

    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Applies changed global variables.
    pub fn configure(&self, variables: &GlobalVariables) {
        self.slow_log
            .configure(variables, "slow_query_log", log_file::header);
        self.general_log
            .configure(variables, "general_log", log_file::header);
        let without_index = variables.boolean("log_queries_not_using_indexes");
        self.without_index.store(without_index, Ordering::Relaxed);
        let administration = variables.boolean("log_slow_admin_statements");
        self.administration.store(administration, Ordering::Relaxed);
    }

    /// The number of a statement's digest; 0 while nothing is measured.
    pub fn digest_number(&self, schema: Option<&str>, text: &str, mode: &SqlMode) -> u32 {
        if !self.is_on {
            return 0;
        }
        let end = text.floor_char_boundary(DIGESTED_BYTES_MAX);
        let digest = syntax::statement_digest(without_end(&text[..end]), mode, DIGEST_BYTES_MAX);
        self.digests.number(schema, digest, text)
    }
}

/// A statement without the semicolon at its end, which does not belong to the digest.
fn without_end(text: &str) -> &str {
    text.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';' || c == '\0')
}

/// Computes STATEMENT_DIGEST() and STATEMENT_DIGEST_TEXT().
///
/// # Errors
/// 3676 for a statement that cannot be parsed.
pub fn digest(text: &str, mode: &SqlMode) -> Result<(String, Vec<u8>)> {
    const ER_PARSE_ERROR_IN_DIGEST_FN: u16 = 3676;
    syntax::parse(text, mode).map_err(|error| {
        let message = format!(
            "Could not parse argument to digest function: \"{}\".",
            error.message
        );
        Error::new(ER_PARSE_ERROR_IN_DIGEST_FN, message)
    })?;
    let digest = syntax::statement_digest(text, mode, DIGEST_BYTES_MAX);
    Ok((digest.text, digest.tokens))
}

/// Nanoseconds as `performance_schema` counts: in picoseconds.
fn picoseconds(ns: u64) -> u64 {
    ns.saturating_mul(1000)
}

fn nanoseconds(took: Duration) -> u64 {
    // Without arithmetic in 128 bits, since each statement needs it.
    let of_seconds = took.as_secs().saturating_mul(1_000_000_000);
    of_seconds.saturating_add(u64::from(took.subsec_nanos()))
}
