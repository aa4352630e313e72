//! The statement and the session that an expression runs in.
//!
//! Not here: conversions between time zones ([`crate::timezone`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use types::{Error, Result, SqlMode, Value, Warning, errno};

use crate::date::locale::Locale;
use crate::eval::speculate;
use crate::interruption::{self, Interrupted};
use crate::string::block_cipher::BlockEncryption;
use crate::timezone::TimeZone;
use crate::user_variable::UserVariable;
use crate::warnings::Warnings;

/// How a failed conversion is treated: an error in strict DML, otherwise a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    Error,
    Warn,
    /// As `Warn`, for DML with IGNORE: other errors of a row become warnings as well.
    Ignore,
}

/// The account that a session runs as.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// USER(): the name and host that the client gave.
    pub user: String,
    /// CURRENT_USER(): the account that they matched.
    pub current_user: String,
    /// CURRENT_ROLE(): the active roles, or NONE.
    pub current_role: String,
    /// Whether it may read files on the server's disk: the privilege FILE.
    pub reads_files: bool,
    /// Whether it may see all roles: the privilege ROLE_ADMIN.
    pub sees_roles: bool,
}

/// The text of a statement's digest, and the bytes whose hash is the digest.
///
/// # Errors
/// 3676 if the statement cannot be parsed.
pub type DigestFn = fn(&str, &SqlMode) -> Result<(String, Vec<u8>)>;

/// The context of a statement. It is shared, and read-only while the statement runs, except for the warnings.
/// Made with `EvalContext { .., ..EvalContext::default() }`.
pub struct EvalContext {
    /// Values of the statement's parameters, in order.
    pub params: Vec<Value>,
    pub sql_mode: SqlMode,
    /// What happens if a conversion loses information. It is an error in DML under strict mode without
    /// IGNORE.
    pub strictness: Strictness,
    pub time_zone: TimeZone,
    /// When the statement began: microseconds since 1970 UTC (`NOW()` is the same for the whole statement).
    pub now_us: i64,
    pub connection_id: u64,
    pub identity: Arc<Identity>,
    pub database: Option<Arc<str>>,
    pub last_insert_id: u64,
    pub row_count: i64,
    pub found_rows: u64,
    pub div_precision_increment: u8,
    pub max_allowed_packet: usize,
    /// `@@group_concat_max_len`, in bytes.
    pub group_concat_max_len: usize,
    /// `@@block_encryption_mode`.
    pub block_encryption: BlockEncryption,
    /// `@@lc_time_names`.
    pub locale: &'static Locale,
    pub version: &'static str,
    /// Warnings the statement has caused so far.
    pub warnings: Warnings,
    /// Set by KILL, by a time limit, and if the client has disconnected. Long evaluations check it.
    /// By default that of the thread: see [`crate::work_for`].
    pub interrupted: Interrupted,
    /// The value of `LAST_INSERT_ID(expr)`, which the session stores.
    pub set_last_insert_id: Mutex<Option<u64>>,
    /// The value of `SET insert_id`.
    pub insert_id: InsertId,
    /// The first AUTO_INCREMENT id that the statement has generated for a row it wrote; 0 before. It becomes the
    /// session's LAST_INSERT_ID() even if the statement, or its commit, fails later.
    pub generated_id: AtomicU64,
    /// User variables (`@a`) as SET has assigned them, by their names in lower case.
    pub user_variables: Arc<HashMap<String, UserVariable>>,
    /// The locks of GET_LOCK().
    pub user_locks: Arc<dyn crate::user_lock::UserLocks>,
    pub server: Arc<dyn crate::server::Server>,
    /// The state of functions between the rows of one statement.
    pub state: crate::state::StatementState,
    /// Computes STATEMENT_DIGEST().
    pub digest: DigestFn,
    /// Counts what the statement has read so far.
    pub reads: crate::read_counters::ReadCounters,
    /// The work that was done since `interrupted` was last looked at: see `work.rs`.
    pub work: AtomicUsize,
}

/// The id of the next row that gets one, if a client has set it; 0 if none has.
#[derive(Debug, Default)]
pub struct InsertId {
    pub id: u64,
    /// Whether a row has used it.
    pub is_used: AtomicBool,
}

impl Default for EvalContext {
    fn default() -> Self {
        Self {
            params: Vec::new(),
            sql_mode: SqlMode::default(),
            strictness: Strictness::Warn,
            time_zone: TimeZone::UTC,
            now_us: 0,
            connection_id: 0,
            identity: Arc::default(),
            database: None,
            last_insert_id: 0,
            row_count: -1,
            found_rows: 0,
            div_precision_increment: 4,
            max_allowed_packet: 64 << 20,
            group_concat_max_len: 1024,
            block_encryption: BlockEncryption::default(),
            locale: Locale::en_us(),
            version: "",
            warnings: Warnings::default(),
            interrupted: Arc::new(interruption::of_thread),
            set_last_insert_id: Mutex::new(None),
            insert_id: InsertId::default(),
            generated_id: AtomicU64::new(0),
            user_variables: Arc::default(),
            user_locks: Arc::new(crate::user_lock::NoLocks),
            server: Arc::new(crate::server::NoServer),
            state: crate::state::StatementState::default(),
            digest: |_, _| {
                Err(Error::internal(
                    "this context has no parser for statement digests",
                ))
            },
            reads: crate::read_counters::ReadCounters::default(),
            work: AtomicUsize::default(),
        }
    }
}

impl EvalContext {
    /// The same for a thread that evaluates a part of the statement on its own: with warnings, counters and values of
    /// outer columns of its own. `interrupted`: ends its evaluations. See [`EvalContext::merge`].
    pub fn for_thread(&self, interrupted: Interrupted) -> Self {
        Self {
            params: self.params.clone(),
            sql_mode: self.sql_mode,
            strictness: self.strictness,
            time_zone: self.time_zone,
            now_us: self.now_us,
            connection_id: self.connection_id,
            identity: Arc::clone(&self.identity),
            database: self.database.clone(),
            last_insert_id: self.last_insert_id,
            row_count: self.row_count,
            found_rows: self.found_rows,
            div_precision_increment: self.div_precision_increment,
            max_allowed_packet: self.max_allowed_packet,
            group_concat_max_len: self.group_concat_max_len,
            block_encryption: self.block_encryption,
            locale: self.locale,
            version: self.version,
            interrupted,
            user_variables: Arc::clone(&self.user_variables),
            user_locks: Arc::clone(&self.user_locks),
            server: Arc::clone(&self.server),
            digest: self.digest,
            reads: self.reads.for_thread(),
            // Every field is named, so that none is forgotten. What a thread leaves in these, `merge` takes over.
            warnings: Warnings::default(),
            set_last_insert_id: Mutex::default(),
            insert_id: InsertId::default(),
            generated_id: AtomicU64::default(),
            state: crate::state::StatementState::default(),
            work: AtomicUsize::default(),
        }
    }

    /// Takes over what a thread has left: its warnings, what it has read, and what it has assigned.
    pub fn merge(&self, thread: &Self) {
        self.warnings.append(&thread.warnings);
        self.reads.merge(&thread.reads);
        let locked = |id: &Mutex<Option<u64>>| id.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(id) = locked(&thread.set_last_insert_id) {
            let mut ours = self
                .set_last_insert_id
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *ours = Some(id);
        }
        for (name, value) in thread.state.take_assigned() {
            self.state.assign(name, value);
        }
    }

    /// Fails with 1317 once the statement has been interrupted.
    pub fn check_interrupted(&self) -> Result<()> {
        if (self.interrupted)() {
            return Err(Error::new(
                errno::ER_QUERY_INTERRUPTED,
                "Query execution was interrupted",
            ));
        }
        Ok(())
    }

    /// Reports that a conversion lost information: an error in strict DML, otherwise a warning.
    pub fn conversion_lost(&self, code: u16, message: impl Into<String>) -> Result<()> {
        match self.strictness {
            Strictness::Error => Err(Error::new(code, message)),
            Strictness::Warn | Strictness::Ignore => self.warn(code, message),
        }
    }

    /// Returns the error, or with IGNORE leaves it as a warning.
    pub fn unless_ignored(&self, error: Error) -> Result<()> {
        match self.strictness {
            Strictness::Error | Strictness::Warn => Err(error),
            Strictness::Ignore => self.warn(error.code, error.message),
        }
    }

    /// Leaves a warning. Fails only during a speculative evaluation (see `eval::speculate`); the caller must
    /// return the error.
    pub(crate) fn warn(&self, code: u16, message: impl Into<String>) -> Result<()> {
        self.report(Warning::warning(code, message))
    }

    /// Leaves a warning or a note; see [`EvalContext::warn`].
    pub(crate) fn report(&self, warning: Warning) -> Result<()> {
        if speculate::is_speculating() {
            return Err(speculate::would_warn());
        }
        self.warnings.push(warning);
        Ok(())
    }
}
