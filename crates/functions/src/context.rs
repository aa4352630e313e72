//! What expressions know of the statement and the session they run in.

use std::sync::Arc;

use types::{Result, Value, Warning};

/// Flags of `@@sql_mode` that change what expressions mean. Source: manual 5.1.11 "Server SQL Modes".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub strict: bool,
    pub no_zero_date: bool,
    pub no_zero_in_date: bool,
    pub error_for_division_by_zero: bool,
    pub only_full_group_by: bool,
    pub no_auto_value_on_zero: bool,
    pub ansi_quotes: bool,
    pub pipes_as_concat: bool,
    pub no_backslash_escapes: bool,
    pub no_unsigned_subtraction: bool,
    pub pad_char_to_full_length: bool,
    pub high_not_precedence: bool,
}

/// How a failed conversion is treated: an error in strict DML, otherwise a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    Error,
    Warn,
}

/// The statement's surroundings. Shared, read-only while the statement runs, but for the warnings.
pub struct EvalContext {
    /// Values of the statement's parameters, in order.
    pub params: Vec<Value>,
    pub sql_mode: SqlMode,
    /// Whether a conversion that loses something fails: true in DML under strict mode without IGNORE.
    pub strictness: Strictness,
    pub time_zone: TimeZone,
    /// When the statement began: microseconds since 1970 UTC (`NOW()` is the same for the whole statement).
    pub now_us: i64,
    pub connection_id: u64,
    pub user: String,
    pub current_user: String,
    pub database: Option<String>,
    pub last_insert_id: u64,
    pub row_count: i64,
    pub found_rows: u64,
    pub div_precision_increment: u8,
    pub max_allowed_packet: usize,
    pub version: String,
    /// Warnings the statement has caused so far.
    pub warnings: Warnings,
    /// Raised by KILL, a vanished client or a time limit: long evaluations look at it.
    pub interrupted: Arc<dyn Fn() -> bool + Send + Sync>,
    /// `LAST_INSERT_ID(expr)` leaves its value here for the session; `u64::MAX`-tagged by the bool when set.
    pub set_last_insert_id: std::sync::Mutex<Option<u64>>,
    /// User variables (`@a`): read with lower-case names. Assigned by SET only.
    pub user_variables: Arc<std::collections::HashMap<String, Value>>,
}

/// `@@time_zone`: a fixed offset or a named zone. The owner of this file implements conversions both ways
/// (`utc_to_local(packed) -> packed`, `local_to_utc(packed) -> Option<packed>`); named zones by `chrono-tz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeZone {
    /// Seconds east of UTC. `SYSTEM` is resolved to a zone when the server starts.
    Offset(i32),
    Named(chrono_tz::Tz),
}

/// A list of warnings that several threads may add to; keeps `max_error_count` and counts the rest.
#[derive(Default)]
pub struct Warnings {
    list: std::sync::Mutex<(Vec<Warning>, u64)>,
}

impl Warnings {
    pub fn push(&self, warning: Warning) {
        let mut list = self.list.lock().unwrap_or_else(|e| e.into_inner());
        list.1 += 1;
        if list.0.len() < 1024 {
            list.0.push(warning);
        }
    }

    /// The warnings kept, and how many there were in all; leaves none behind.
    pub fn take(&self) -> (Vec<Warning>, u64) {
        std::mem::take(&mut *self.list.lock().unwrap_or_else(|e| e.into_inner()))
    }

    pub fn count(&self) -> u64 {
        self.list.lock().unwrap_or_else(|e| e.into_inner()).1
    }
}

impl EvalContext {
    /// Fails with 1317 once the statement has been interrupted.
    pub fn check_interrupted(&self) -> Result<()> {
        if (self.interrupted)() {
            return Err(types::Error::new(
                types::errno::ER_QUERY_INTERRUPTED,
                "Query execution was interrupted",
            ));
        }
        Ok(())
    }
}
