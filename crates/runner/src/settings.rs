//! Settings of a statement: isolation, limits, time-outs.

use std::time::Duration;

/// Isolation levels of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// READ UNCOMMITTED as well: no statement sees what is not committed.
    ReadCommitted,
    RepeatableRead,
}

impl Isolation {
    /// As `INNODB_TRX` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
        }
    }
}

/// A session has them as variables, which each field names.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `autocommit`
    pub autocommit: bool,
    /// `transaction_isolation`
    pub isolation: Isolation,
    /// `transaction_read_only`
    pub read_only: bool,
    /// `stemdb_transaction_mode`
    pub optimistic: bool,
    /// `innodb_lock_wait_timeout`
    pub row_lock_wait: Duration,
    /// `lock_wait_timeout`
    pub metadata_lock_wait: Duration,
    /// `stemdb_memory_limit`: bytes that one statement may hold.
    pub memory_limit_bytes: usize,
    /// `auto_increment_increment` and `auto_increment_offset`
    pub auto_increment: (u64, u64),
    /// `allow_auto_random_explicit_insert`
    pub explicit_auto_random: bool,
    /// `cte_max_recursion_depth`
    pub cte_max_recursion_depth: u64,
    /// `sql_select_limit`: rows of a query without a LIMIT.
    pub select_limit: u64,
    /// `sql_safe_updates`
    pub safe_updates: bool,
    /// `max_join_size`; `None`: `sql_big_selects` is on.
    pub max_join_size: Option<u64>,
    /// The account has CONNECTION_ADMIN or SUPER, so `read_only` does not concern it.
    pub is_admin: bool,
}
