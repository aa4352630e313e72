//! Session variables that not every account may set (manual 5.1.9.1, "System Variable Privileges").
//!
//! Source: MySQL 8.0.33's answers to an account without privileges.

use schema::privilege::Privilege;

/// One of these privileges is needed, and how error 1227 lists them.
pub struct Restriction {
    pub label: &'static str,
    pub privileges: &'static [Privilege],
    pub dynamic: &'static [&'static str],
}

const ADMINISTRATION: Restriction = Restriction {
    label: "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
    privileges: &[Privilege::Super],
    dynamic: &["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN"],
};

const REPLICATION: Restriction = Restriction {
    label: "SUPER, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN or REPLICATION_APPLIER",
    privileges: &[Privilege::Super],
    dynamic: &[
        "SYSTEM_VARIABLES_ADMIN",
        "SESSION_VARIABLES_ADMIN",
        "REPLICATION_APPLIER",
    ],
};

const TUNING: Restriction = Restriction {
    label: "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
    privileges: &[],
    dynamic: &["SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN"],
};

const FILES: Restriction = Restriction {
    label: "FILE",
    privileges: &[Privilege::File],
    dynamic: &[],
};

/// What an account needs to set a variable of its session; `None`: nothing.
pub fn restriction(variable: &str) -> Option<&'static Restriction> {
    Some(match variable {
        "binlog_direct_non_transactional_updates"
        | "binlog_format"
        | "binlog_row_image"
        | "binlog_row_value_options"
        | "binlog_rows_query_log_events"
        | "binlog_transaction_compression"
        | "binlog_transaction_compression_level_zstd"
        | "bulk_insert_buffer_size"
        | "character_set_database"
        | "character_set_filesystem"
        | "connection_memory_chunk_size"
        | "connection_memory_limit"
        | "global_connection_memory_tracking"
        | "histogram_generation_max_mem_size"
        | "pseudo_thread_id"
        | "sql_generate_invisible_primary_key"
        | "sql_log_bin"
        | "sql_log_off"
        | "sql_require_primary_key"
        | "transaction_write_set_extraction"
        | "xa_detach_on_prepare" => &ADMINISTRATION,
        "gtid_next"
        | "immediate_server_version"
        | "original_commit_timestamp"
        | "original_server_version"
        | "pseudo_replica_mode"
        | "pseudo_slave_mode" => &REPLICATION,
        "innodb_strict_mode"
        | "internal_tmp_mem_storage_engine"
        | "low_priority_updates"
        | "max_delayed_threads"
        | "max_error_count"
        | "max_insert_delayed_threads"
        | "min_examined_row_limit"
        | "preload_buffer_size"
        | "select_into_buffer_size"
        | "select_into_disk_sync_delay"
        | "show_old_temporals" => &TUNING,
        "innodb_tmpdir" => &FILES,
        _ => return None,
    })
}

/// Whether DEFAULT as a value needs the privileges, too. InnoDB checks the privileges for its variables itself, with the
/// value, and so it does not check DEFAULT.
pub fn restricts_default(variable: &str) -> bool {
    !variable.starts_with("innodb_")
}

/// What an account needs to set a variable with SET GLOBAL, beside SYSTEM_VARIABLES_ADMIN or SUPER; `None`: nothing.
pub fn global_restriction(variable: &str) -> Option<&'static Restriction> {
    Some(match variable {
        "binlog_encryption" => &Restriction {
            label: "SUPER or BINLOG_ENCRYPTION_ADMIN",
            privileges: &[Privilege::Super],
            dynamic: &["BINLOG_ENCRYPTION_ADMIN"],
        },
        "default_table_encryption" => &Restriction {
            label: "SUPER or SYSTEM_VARIABLES_ADMIN and TABLE_ENCRYPTION_ADMIN",
            privileges: &[Privilege::Super],
            dynamic: &["TABLE_ENCRYPTION_ADMIN"],
        },
        "group_replication_consistency" => &Restriction {
            label: "SUPER or GROUP_REPLICATION_ADMIN",
            privileges: &[Privilege::Super],
            dynamic: &["GROUP_REPLICATION_ADMIN"],
        },
        "innodb_strict_mode" => &TUNING,
        "innodb_tmpdir" => &FILES,
        "table_encryption_privilege_check" => &Restriction {
            label: "SUPER",
            privileges: &[Privilege::Super],
            dynamic: &[],
        },
        _ => return None,
    })
}
