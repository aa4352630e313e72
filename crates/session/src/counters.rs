//! Counters of SHOW STATUS for each session. A session adds to its own. The server's counters are sums over
//! all sessions, including those that have ended, and are computed when they are read.

use std::sync::atomic::{AtomicU64, Ordering};

use syntax::ast::SqlCommand;

use crate::events::by_name::SumsByName;
use crate::events::event::StatementEvent;

/// Counters other than those of the kinds of statements.
macro_rules! counters {
    ($($counter:ident $name:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum StatusCounter {
            $(#[doc = concat!("`", $name, "`")] $counter,)*
        }

        impl StatusCounter {
            const NAMES: &[&str] = &[$($name,)*];
            const ALL: &[Self] = &[$(Self::$counter,)*];
        }
    };
}

counters! {
    StmtClose "Com_stmt_close",
    StmtExecute "Com_stmt_execute",
    StmtFetch "Com_stmt_fetch",
    StmtPrepare "Com_stmt_prepare",
    StmtReprepare "Com_stmt_reprepare",
    StmtReset "Com_stmt_reset",
    StmtSendLongData "Com_stmt_send_long_data",
    CreatedTmpDiskTables "Created_tmp_disk_tables",
    CreatedTmpTables "Created_tmp_tables",
    HandlerCommit "Handler_commit",
    HandlerDelete "Handler_delete",
    HandlerExternalLock "Handler_external_lock",
    HandlerPrepare "Handler_prepare",
    HandlerReadFirst "Handler_read_first",
    HandlerReadKey "Handler_read_key",
    HandlerReadNext "Handler_read_next",
    HandlerReadRndNext "Handler_read_rnd_next",
    HandlerRollback "Handler_rollback",
    HandlerSavepoint "Handler_savepoint",
    HandlerSavepointRollback "Handler_savepoint_rollback",
    HandlerUpdate "Handler_update",
    HandlerWrite "Handler_write",
    MaxExecutionTimeExceeded "Max_execution_time_exceeded",
    MaxExecutionTimeSet "Max_execution_time_set",
    Questions "Questions",
    SelectFullJoin "Select_full_join",
    SelectRange "Select_range",
    SelectScan "Select_scan",
    SlowQueries "Slow_queries",
    SortMergePasses "Sort_merge_passes",
    SortRange "Sort_range",
    SortRows "Sort_rows",
    SortScan "Sort_scan",
}

const COUNTERS: usize = StatusCounter::NAMES.len();
const COMMANDS: usize = SqlCommand::ALL.len();

/// The counters of one session, or of all sessions that have ended.
pub struct SessionCounters {
    commands: [AtomicU64; COMMANDS],
    counters: [AtomicU64; COUNTERS],
    /// Commands that are not counted as `Questions`.
    beside: AtomicU64,
    /// Reads of one row by its key, outside of transactions.
    points: AtomicU64,
    /// Commands of SQL about prepared statements, which also count as statements.
    named: AtomicU64,
    /// Rows that INSERT has not written, since there was one of their key.
    refused: AtomicU64,
    /// Their times and rows.
    pub by_name: SumsByName,
}

impl Default for SessionCounters {
    fn default() -> Self {
        Self {
            commands: [const { AtomicU64::new(0) }; COMMANDS],
            counters: [const { AtomicU64::new(0) }; COUNTERS],
            beside: AtomicU64::new(0),
            points: AtomicU64::new(0),
            named: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            by_name: SumsByName::default(),
        }
    }
}

impl SessionCounters {
    #[inline]
    pub fn add(&self, counter: StatusCounter, by: u64) {
        self.counters[counter as usize].fetch_add(by, Ordering::Relaxed);
    }

    #[inline]
    pub fn count_command(&self, command: SqlCommand) {
        self.commands[command as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a statement of the client when it begins. `command`: `None` if the statement cannot be parsed.
    #[inline]
    pub fn begin(&self, command: Option<SqlCommand>) {
        match command {
            Some(command) => self.count_command(command),
            None => self.add(StatusCounter::Questions, 1),
        }
    }

    /// Counts PREPARE and DEALLOCATE PREPARE as the protocol's commands.
    pub fn add_named(&self, counter: StatusCounter) {
        self.add(counter, 1);
        self.named.fetch_add(1, Ordering::Relaxed);
    }

    /// Commands of the protocol about prepared statements that are not `Questions`.
    pub fn prepares(&self) -> u64 {
        use StatusCounter as S;
        let all = [S::StmtPrepare, S::StmtClose, S::StmtReset];
        let all: u64 = all.iter().map(|counter| self.of(*counter)).sum();
        all.saturating_sub(self.named.load(Ordering::Relaxed))
    }

    /// Rows that were inserted: [`StatusCounter::HandlerWrite`] also counts those that could not be.
    pub fn inserted(&self) -> u64 {
        self.counters[StatusCounter::HandlerWrite as usize].load(Ordering::Relaxed)
    }

    /// Counts a command that does not count as a question.
    pub fn count_beside(&self, command: SqlCommand) {
        self.count_command(command);
        self.beside.fetch_add(1, Ordering::Relaxed);
    }

    /// The value of a counter. Sums are computed here, so that statements update fewer counters: `Questions`
    /// is the sum over all kinds, and a read of one row by its key adds to `points` only.
    pub fn of(&self, counter: StatusCounter) -> u64 {
        use StatusCounter as S;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let own = load(&self.counters[counter as usize]);
        match counter {
            S::Questions => {
                let commands: u64 = self.commands.iter().map(load).sum();
                own + commands.saturating_sub(load(&self.beside))
            }
            S::HandlerReadKey | S::HandlerCommit => own + load(&self.points),
            S::HandlerWrite => own + load(&self.refused),
            S::HandlerExternalLock => own + 2 * load(&self.points),
            _ => own,
        }
    }

    /// Adds a statement that has ended.
    pub fn record(&self, event: &StatementEvent) {
        use StatusCounter as S;
        if event.is_lone_point {
            self.points.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.add_some(S::HandlerExternalLock, u64::from(event.tables) * 2);
        self.add_some(S::HandlerReadKey, event.reads.keys);
        self.add_some(S::HandlerReadNext, event.reads.next);
        self.add_some(S::HandlerReadRndNext, event.reads.all);
        self.add_some(S::HandlerWrite, event.changes.inserted);
        if event.changes.refused > 0 {
            self.refused.fetch_add(event.changes.refused, Ordering::Relaxed);
        }
        self.add_some(S::HandlerUpdate, event.changes.updated);
        self.add_some(S::HandlerDelete, event.changes.deleted);
        let traits = event.traits;
        // A scan of a whole table starts with a read of its first row.
        let whole = u64::from(traits.scans) + u64::from(traits.full_joins);
        self.add_some(S::HandlerReadFirst, whole);
        self.add_some(S::SelectScan, u64::from(traits.counts_scan()));
        self.add_some(S::SelectRange, u64::from(traits.counts_range()));
        self.add_some(S::SelectFullJoin, u64::from(traits.full_joins));
        self.add_some(S::CreatedTmpTables, u64::from(traits.temporary_tables));
        self.add_some(S::CreatedTmpDiskTables, event.reads.in_files);
        self.add_some(S::SortRows, event.reads.sorted);
        self.add_some(S::SortMergePasses, event.reads.merges);
        if traits.sorts {
            self.add(if traits.ranges { S::SortRange } else { S::SortScan }, 1);
        }
    }

    /// [`SessionCounters::add`] for a number that is usually 0.
    #[inline]
    pub fn add_some(&self, counter: StatusCounter, by: u64) {
        if by > 0 {
            self.add(counter, by);
        }
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        let rest = [&self.beside, &self.points, &self.named, &self.refused];
        self.commands.iter().chain(&self.counters).chain(rest)
    }

    /// Adds another session's.
    pub fn add_all(&self, other: &Self) {
        self.add_counters(other);
        self.by_name.add_all(&other.by_name);
    }

    /// Adds all but the sums by name.
    pub fn add_counters(&self, other: &Self) {
        for (sum, counter) in self.all().zip(other.all()) {
            match counter.load(Ordering::Relaxed) {
                0 => {}
                by => drop(sum.fetch_add(by, Ordering::Relaxed)),
            }
        }
    }

    /// Moves all but the sums by name to `sum`.
    pub fn move_counters_to(&self, sum: &Self) {
        for (sum, counter) in sum.all().zip(self.all()) {
            sum.fetch_add(counter.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Names, as in SHOW STATUS, and values.
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let commands = self
            .commands()
            .map(|(name, count)| (format!("Com_{name}"), count));
        let counters = StatusCounter::ALL.iter().zip(StatusCounter::NAMES);
        let counters = counters.map(|(counter, name)| ((*name).to_owned(), self.of(*counter)));
        commands.chain(counters)
    }

    /// How many statements of each kind have begun.
    fn commands(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let commands = SqlCommand::ALL.iter().zip(&self.commands);
        commands.map(|(command, count)| (command.name(), count.load(Ordering::Relaxed)))
    }
}

/// Rows that the statements of all sessions have read and changed, which MySQL counts in InnoDB.
pub const ROWS: [(&str, StatusCounter); 2] = [
    ("Innodb_rows_deleted", StatusCounter::HandlerDelete),
    ("Innodb_rows_updated", StatusCounter::HandlerUpdate),
];

/// `Innodb_rows_read`: rows that were read, or looked for by their key.
pub fn rows_read(counters: &SessionCounters) -> u64 {
    use StatusCounter as S;
    let reads = [S::HandlerReadKey, S::HandlerReadNext, S::HandlerReadRndNext];
    reads.iter().map(|counter| counters.of(*counter)).sum()
}

/// Rows that statements have inserted, updated and deleted.
pub fn rows_changed(counters: &SessionCounters) -> u64 {
    counters.inserted()
        + counters.of(StatusCounter::HandlerUpdate)
        + counters.of(StatusCounter::HandlerDelete)
}

/// MySQL's counters of events that cannot happen here, or that are not counted (docs/compatibility.md).
pub const NEVER: &[&str] = &[
    "Acl_cache_items_count",
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Com_alter_instance",
    "Com_alter_resource_group",
    "Com_alter_server",
    "Com_alter_tablespace",
    "Com_binlog",
    "Com_change_master",
    "Com_change_repl_filter",
    "Com_change_replication_source",
    "Com_clone",
    "Com_create_event",
    "Com_create_function",
    "Com_create_procedure",
    "Com_create_resource_group",
    "Com_create_server",
    "Com_create_spatial_reference_system",
    "Com_create_trigger",
    "Com_create_udf",
    "Com_drop_resource_group",
    "Com_drop_server",
    "Com_drop_spatial_reference_system",
    "Com_group_replication_start",
    "Com_group_replication_stop",
    "Com_ha_close",
    "Com_ha_open",
    "Com_ha_read",
    "Com_import",
    "Com_install_component",
    "Com_install_plugin",
    "Com_purge",
    "Com_purge_before_date",
    "Com_replica_start",
    "Com_replica_stop",
    "Com_restart",
    "Com_set_resource_group",
    "Com_show_function_code",
    "Com_show_procedure_code",
    "Com_show_slave_hosts",
    "Com_show_slave_status",
    "Com_shutdown",
    "Com_slave_start",
    "Com_slave_stop",
    "Com_uninstall_component",
    "Com_uninstall_plugin",
    "Connection_errors_accept",
    "Connection_errors_internal",
    "Connection_errors_peer_address",
    "Connection_errors_select",
    "Connection_errors_tcpwrap",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Error_log_buffered_bytes",
    "Error_log_buffered_events",
    "Error_log_expired_events",
    "Error_log_latest_write",
    "Global_connection_memory",
    "Handler_discover",
    "Handler_mrr_init",
    "Handler_read_last",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_read_ahead",
    "Innodb_buffer_pool_read_ahead_evicted",
    "Innodb_buffer_pool_read_ahead_rnd",
    "Innodb_buffer_pool_resize_status_code",
    "Innodb_buffer_pool_resize_status_progress",
    "Innodb_buffer_pool_wait_free",
    "Innodb_data_pending_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_log_waits",
    "Innodb_num_open_files",
    "Innodb_os_log_pending_fsyncs",
    "Innodb_os_log_pending_writes",
    "Innodb_os_log_written",
    "Innodb_pages_created",
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_flushed_to_disk_lsn",
    "Innodb_redo_log_physical_size",
    "Innodb_redo_log_uuid",
    "Innodb_sampled_pages_read",
    "Innodb_sampled_pages_skipped",
    "Innodb_system_rows_deleted",
    "Innodb_system_rows_inserted",
    "Innodb_system_rows_read",
    "Innodb_system_rows_updated",
    "Innodb_truncated_status_writes",
    "Innodb_undo_tablespaces_active",
    "Innodb_undo_tablespaces_explicit",
    "Innodb_undo_tablespaces_implicit",
    "Innodb_undo_tablespaces_total",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Max_execution_time_set_failed",
    "Not_flushed_delayed_rows",
    "Ongoing_anonymous_transaction_count",
    "Open_files",
    "Open_streams",
    "Opened_files",
    "Opened_table_definitions",
    "Opened_tables",
    "Performance_schema_accounts_lost",
    "Performance_schema_cond_classes_lost",
    "Performance_schema_cond_instances_lost",
    "Performance_schema_file_classes_lost",
    "Performance_schema_file_handles_lost",
    "Performance_schema_file_instances_lost",
    "Performance_schema_hosts_lost",
    "Performance_schema_index_stat_lost",
    "Performance_schema_locker_lost",
    "Performance_schema_memory_classes_lost",
    "Performance_schema_metadata_lock_lost",
    "Performance_schema_mutex_classes_lost",
    "Performance_schema_mutex_instances_lost",
    "Performance_schema_nested_statement_lost",
    "Performance_schema_prepared_statements_lost",
    "Performance_schema_program_lost",
    "Performance_schema_rwlock_classes_lost",
    "Performance_schema_rwlock_instances_lost",
    "Performance_schema_session_connect_attrs_lost",
    "Performance_schema_socket_classes_lost",
    "Performance_schema_socket_instances_lost",
    "Performance_schema_stage_classes_lost",
    "Performance_schema_statement_classes_lost",
    "Performance_schema_table_handles_lost",
    "Performance_schema_table_instances_lost",
    "Performance_schema_table_lock_stat_lost",
    "Performance_schema_thread_classes_lost",
    "Performance_schema_thread_instances_lost",
    "Performance_schema_users_lost",
    "Replica_open_temp_tables",
    "Secondary_engine_execution_count",
    "Select_full_range_join",
    "Select_range_check",
    "Slave_open_temp_tables",
    "Slow_launch_threads",
    "Ssl_accept_renegotiates",
    "Ssl_callback_cache_hits",
    "Ssl_client_connects",
    "Ssl_connect_renegotiates",
    "Ssl_ctx_verify_depth",
    "Ssl_ctx_verify_mode",
    "Ssl_default_timeout",
    "Ssl_finished_connects",
    "Ssl_session_cache_hits",
    "Ssl_session_cache_misses",
    "Ssl_session_cache_overflows",
    "Ssl_session_cache_timeout",
    "Ssl_session_cache_timeouts",
    "Ssl_sessions_reused",
    "Ssl_used_session_cache_entries",
    "Ssl_verify_depth",
    "Ssl_verify_mode",
    "Table_locks_waited",
    "Table_open_cache_misses",
    "Table_open_cache_overflows",
    "Tc_log_max_pages_used",
    "Tc_log_page_size",
    "Tc_log_page_waits",
];
