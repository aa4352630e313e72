//! Errors below SQL, and the one place that maps them to MySQL's.

use crate::timestamp::Timestamp;
use types::errno;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The part of a cluster that did not answer in time. The texts are TiDB's, whose error numbers clients know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The placement driver (PD), which gives timestamps and knows where regions are.
    Oracle,
    /// A store does not answer.
    Store,
    /// A store answers that it is overloaded.
    BusyStore,
    /// A lock blocks a read, and its transaction neither ends nor expires.
    Lock,
    /// No store serves a range of keys.
    Region,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Oracle => "PD server timeout",
            Self::Store => "TiKV server timeout",
            Self::BusyStore => "TiKV server is busy",
            Self::Lock => "Resolve lock timeout",
            Self::Region => "Region is unavailable",
        })
    }
}

/// A failure of the key-value layer. Every failed `commit` except [`Error::Undetermined`] is definite:
/// nothing of the transaction is in the store, now or after a restart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The lock was not free within the wait time. The transaction can continue.
    #[error("Lock wait timeout exceeded; try restarting transaction")]
    LockTimeout,
    /// The lock was not free and the request said NOWAIT. The transaction can continue.
    #[error("Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.")]
    LockNotAvailable,
    /// The wait would have closed a circle, and this transaction is the victim. The caller rolls it back.
    #[error("Deadlock found when trying to get lock; try restarting transaction")]
    Deadlock,
    /// Optimistic mode: another transaction has committed a written key since this one started.
    #[error("Write conflict, txnStartTS={start_ts}, conflictCommitTS={conflict_ts} [try again later]")]
    WriteConflict {
        start_ts: Timestamp,
        conflict_ts: Timestamp,
    },
    /// Optimistic mode: another transaction has committed a key that is locked now, after the snapshot that this one
    /// reads. The caller rolls it back.
    #[error("Write conflict: a locked row has changed since the transaction's snapshot [try again later]")]
    LockedHasChanged,
    /// A key exists for which [`crate::Transaction::expect_absent`] was called.
    #[error("a key that was expected to be absent is there")]
    KeyExists,
    /// The commit would have been after its [`crate::Fence`]: the server's lease in the store had ended, and
    /// other servers may have changed what the transaction relies on.
    #[error(
        "Information schema is out of date: the server's lease ended at {last} and the commit would be at {commit_ts} [try again later]"
    )]
    CommitTooLate { commit_ts: Timestamp, last: Timestamp },
    /// [`crate::Interrupt::raise`] was called: by KILL, or because the client has disconnected.
    #[error("Query execution was interrupted")]
    Interrupted,
    /// Versions that old may have been collected.
    #[error(
        "GC life time is shorter than transaction duration, transaction starts at {ts}, GC safe point is {safe_point}"
    )]
    SnapshotTooOld { ts: Timestamp, safe_point: Timestamp },
    /// Transactions may still be committed before that timestamp.
    #[error("invalid as of timestamp: cannot set read timestamp to a future time")]
    SnapshotInFuture { ts: Timestamp },
    #[error("Specified key was too long; max key length is {limit_bytes} bytes")]
    KeyTooLarge { size_bytes: usize, limit_bytes: usize },
    #[error("entry too large, the max entry size is {limit_bytes}, the size of data is {size_bytes}")]
    ValueTooLarge { size_bytes: usize, limit_bytes: usize },
    #[error("Transaction is too large, size: {size_bytes}, limit: {limit_bytes}")]
    TransactionTooLarge { size_bytes: usize, limit_bytes: usize },
    /// Other statements hold the memory that the process may use. The statement that wanted to write is
    /// undone.
    #[error(
        "The transaction needs more memory for what it has written and locked than the server has left; commit in smaller parts"
    )]
    OutOfMemory,
    /// The session's private keys may not take more memory. The statement that wanted to write is undone.
    #[error("The table is full")]
    PrivateFull,
    /// The transaction cannot be prepared: its engine, or what it has written, does not outlive the process
    /// that way.
    #[error("the transaction cannot be prepared")]
    NotPrepared,
    /// A write in a read-only transaction.
    #[error("Cannot execute statement in a READ ONLY transaction.")]
    ReadOnly,
    /// An earlier failure left the contents of the log unknown: reads continue, writes are refused until a
    /// restart.
    #[error("Running in read-only mode: {0}")]
    StoreReadOnly(String),
    /// The commit may or may not have happened. After a restart all of it is in the store, or nothing.
    #[error("execution result undetermined: {0}")]
    Undetermined(String),
    /// Refused before anything was written. Works again once there is space.
    #[error("Disk full ({0}); free some space and try again")]
    DiskFull(String),
    /// The store cannot be reached or opened.
    #[error("storage unavailable: {0}")]
    Unavailable(String),
    /// A part of the cluster has not answered within the time limit, after retries. The caller may try again.
    #[error("{part}: {reason}")]
    ClusterTimeout { part: Part, reason: String },
    /// Bytes on disk that no version of this program wrote.
    #[error("stored data are damaged: {0}")]
    Corrupt(String),
    #[error("storage I/O error: {0}")]
    Io(String),
    /// A defect of this program.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Whether running the whole transaction again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::LockTimeout
                | Self::LockNotAvailable
                | Self::Deadlock
                | Self::WriteConflict { .. }
                | Self::LockedHasChanged
        )
    }

    /// MySQL's number, or TiDB's for what MySQL does not have.
    pub fn code(&self) -> u16 {
        /// MySQL's ER_DISK_FULL, ER_GET_ERRNO; TiDB's ErrEntryTooLarge, ErrAsOf, and its errors of a cluster.
        const ER_DISK_FULL: u16 = 1021;
        const ER_GET_ERRNO: u16 = 1030;
        const ER_ENTRY_TOO_LARGE: u16 = 8025;
        const ER_AS_OF: u16 = 8135;
        const ER_PD_SERVER_TIMEOUT: u16 = 9001;
        const ER_TIKV_SERVER_TIMEOUT: u16 = 9002;
        const ER_TIKV_SERVER_BUSY: u16 = 9003;
        const ER_RESOLVE_LOCK_TIMEOUT: u16 = 9004;
        match self {
            Self::LockTimeout => errno::ER_LOCK_WAIT_TIMEOUT,
            Self::LockNotAvailable => errno::ER_LOCK_NOWAIT,
            Self::Deadlock => errno::ER_LOCK_DEADLOCK,
            Self::WriteConflict { .. } | Self::LockedHasChanged => errno::ER_WRITE_CONFLICT,
            Self::KeyExists => errno::ER_DUP_ENTRY,
            Self::CommitTooLate { .. } => errno::ER_SCHEMA_OUT_OF_DATE,
            Self::Interrupted => errno::ER_QUERY_INTERRUPTED,
            Self::SnapshotTooOld { .. } => errno::ER_SNAPSHOT_TOO_OLD,
            Self::SnapshotInFuture { .. } => ER_AS_OF,
            Self::KeyTooLarge { .. } => errno::ER_TOO_LONG_KEY,
            Self::ValueTooLarge { .. } => ER_ENTRY_TOO_LARGE,
            Self::TransactionTooLarge { .. } => errno::ER_TXN_TOO_LARGE,
            Self::OutOfMemory => errno::ER_MEMORY_EXCEEDED,
            Self::PrivateFull => errno::ER_RECORD_FILE_FULL,
            Self::NotPrepared => errno::ER_NOT_SUPPORTED_YET,
            Self::ReadOnly => errno::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
            Self::StoreReadOnly(_) => errno::ER_READ_ONLY_MODE,
            Self::Undetermined(_) => errno::ER_RESULT_UNDETERMINED,
            Self::DiskFull(_) => ER_DISK_FULL,
            Self::Unavailable(_) => errno::ER_STORE_UNAVAILABLE,
            Self::ClusterTimeout { part, .. } => match part {
                Part::Oracle => ER_PD_SERVER_TIMEOUT,
                Part::Store => ER_TIKV_SERVER_TIMEOUT,
                Part::BusyStore => ER_TIKV_SERVER_BUSY,
                Part::Lock => ER_RESOLVE_LOCK_TIMEOUT,
                Part::Region => errno::ER_STORE_UNAVAILABLE,
            },
            Self::Io(_) => ER_GET_ERRNO,
            Self::Corrupt(_) | Self::Internal(_) => errno::ER_UNKNOWN_ERROR,
        }
    }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        types::Error::new(error.code(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_sees_its_own_numbers_and_words() {
        let seen = |error: Error| {
            let error = types::Error::from(error);
            (error.code, error.sqlstate(), error.message)
        };
        assert_eq!(
            seen(Error::LockTimeout),
            (
                1205,
                "HY000",
                "Lock wait timeout exceeded; try restarting transaction".into()
            )
        );
        assert_eq!(
            seen(Error::Deadlock),
            (
                1213,
                "40001",
                "Deadlock found when trying to get lock; try restarting transaction".into()
            )
        );
        assert_eq!(
            seen(Error::LockNotAvailable),
            (
                3572,
                "HY000",
                "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set."
                    .into()
            )
        );
        assert_eq!(
            seen(Error::Interrupted),
            (1317, "70100", "Query execution was interrupted".into())
        );
        assert_eq!(
            seen(Error::ReadOnly),
            (
                1792,
                "25006",
                "Cannot execute statement in a READ ONLY transaction.".into()
            )
        );
        assert_eq!(seen(Error::Undetermined("x".into())).0, 8501);
        let timeout = |part| Error::ClusterTimeout {
            part,
            reason: "x".into(),
        };
        assert_eq!(
            seen(timeout(Part::Store)),
            (9002, "HY000", "TiKV server timeout: x".into())
        );
        let codes =
            [Part::Oracle, Part::BusyStore, Part::Lock, Part::Region].map(|part| timeout(part).code());
        assert_eq!(codes, [9001, 9003, 9004, 9005]);
    }
}
