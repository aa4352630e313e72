//! What a transaction is asked to be.

use crate::interrupt::Interrupt;
use crate::private::PrivateKeys;
use std::sync::Arc;
use std::time::Duration;

/// How a transaction behaves.
#[derive(Debug, Clone)]
pub struct TxnOptions {
    /// Writes lock nothing until the commit, which fails with [`crate::Error::WriteConflict`] if a written key has
    /// changed. What it locks before has to be as its snapshot has it ([`crate::Error::LockedHasChanged`]).
    pub optimistic: bool,
    /// Every write fails with [`crate::Error::ReadOnly`].
    pub read_only: bool,
    /// The transaction is one statement of its client, which cannot tell a commit at its end from one just
    /// after its start. Saves an engine over a cluster one request for a timestamp.
    pub single_statement: bool,
    /// [`crate::Transaction::expect_absent`] may return true: the caller can run its work again without it if
    /// the commit fails with [`crate::Error::KeyExists`].
    pub defer_duplicate_checks: bool,
    /// On a shared store: how long its locks block other servers if this process ends. While the process
    /// runs, it renews them. A short time is for short work on keys that others wait for. `None`: as the
    /// engine is configured.
    pub lock_ttl: Option<Duration>,
    /// It is begun for exclusive locks alone, and may hold them for days: it cannot write, reads what is newest, and
    /// holds back no garbage collection.
    pub locks_only: bool,
    /// How long `commit` waits for each key that was written and not locked before.
    pub commit_lock_wait: Duration,
    /// Once raised, ends reads and the lock waits of `commit`.
    pub interrupt: Option<Arc<Interrupt>>,
    /// A lower limit than the engine's for this transaction's writes, in bytes.
    pub max_bytes: Option<usize>,
    /// The session's own keys, which it reads and writes there.
    pub private: Option<Arc<PrivateKeys>>,
}

impl Default for TxnOptions {
    fn default() -> Self {
        Self {
            optimistic: false,
            read_only: false,
            single_statement: false,
            defer_duplicate_checks: false,
            lock_ttl: None,
            locks_only: false,
            commit_lock_wait: Duration::from_secs(50),
            interrupt: None,
            max_bytes: None,
            private: None,
        }
    }
}
