//! The list of system variables: scope, kind, default, and what setting one does here.

use std::sync::LazyLock;

use Effect::*;
use Scope::*;

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    Both,
}

/// What values a variable takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// ON or OFF; 1 or 0 in a SELECT.
    Bool,
    /// Values outside are brought to the nearest one, with warning 1292.
    Int(u64, u64),
    Double,
    Text,
    Enum(&'static [&'static str]),
    Charset,
    CharsetOrNull,
    Collation,
    SqlMode,
    TimeZone,
    Isolation,
}

/// What setting a variable does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is obeyed.
    Live,
    /// It tunes MySQL's machinery and has no effect on any answer; kept and shown.
    Hint,
    /// It would change behaviour that StemDB has in one form only: any other value is refused (1235).
    Same,
    /// Read only (1238).
    Fixed,
    /// Another name of a variable; see [`Definition::canonical`].
    Alias,
}

/// One system variable.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Position in [`all`], which is how values are kept.
    pub index: usize,
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    /// As SHOW VARIABLES prints it.
    pub default: &'static str,
    pub effect: Effect,
}

impl Definition {
    /// Whether each node of several that share a store has a value of its own: SET GLOBAL reaches one server only.
    pub fn is_of_node(&self) -> bool {
        matches!(self.name, "max_connections" | "server_id")
    }

    /// The variable that an old name stands for.
    pub fn canonical(&self) -> &'static Definition {
        let name = match self.name {
            "identity" => "last_insert_id",
            other => other,
        };
        lookup(name).unwrap_or(&all()[self.index])
    }
}

/// Every variable, in order of name.
pub fn all() -> &'static [Definition] {
    static ALL: LazyLock<Vec<Definition>> = LazyLock::new(|| {
        let row = |(index, &(name, scope, kind, default, effect)): (usize, &Row)| Definition {
            index,
            name,
            scope,
            kind,
            default,
            effect,
        };
        ROWS.iter().enumerate().map(row).collect()
    });
    &ALL
}

/// Finds a variable; names are case-insensitive.
pub fn lookup(name: &str) -> Option<&'static Definition> {
    let all = all();
    let lower = name.to_ascii_lowercase();
    all.binary_search_by(|d| d.name.cmp(lower.as_str()))
        .ok()
        .map(|i| &all[i])
}

type Row = (&'static str, Scope, Kind, &'static str, Effect);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("allow_auto_random_explicit_insert", Both, Kind::Bool, "OFF", Live),
    ("auto_increment_increment", Both, Kind::Int(1, 65535), "1", Live),
    ("auto_increment_offset", Both, Kind::Int(1, 65535), "1", Live),
    ("autocommit", Both, Kind::Bool, "ON", Live),
    ("back_log", Global, Kind::Int(1, 65535), "151", Fixed),
    ("basedir", Global, Kind::Text, "/", Fixed),
    ("big_tables", Both, Kind::Bool, "OFF", Hint),
    ("bind_address", Global, Kind::Text, "127.0.0.1", Fixed),
    ("binlog_format", Both, Kind::Text, "ROW", Same),
    ("binlog_row_image", Both, Kind::Text, "FULL", Same),
    ("block_encryption_mode", Both, Kind::Enum(functions::BLOCK_ENCRYPTION_MODES), "aes-128-ecb", Live),
    ("bulk_insert_buffer_size", Both, Kind::Int(0, 18446744073709551615), "8388608", Hint),
    ("character_set_client", Both, Kind::Charset, "utf8mb4", Live),
    ("character_set_connection", Both, Kind::Charset, "utf8mb4", Live),
    ("character_set_database", Both, Kind::Charset, "utf8mb4", Live),
    ("character_set_filesystem", Both, Kind::Charset, "binary", Hint),
    ("character_set_results", Both, Kind::CharsetOrNull, "utf8mb4", Live),
    ("character_set_server", Both, Kind::Charset, "utf8mb4", Live),
    ("character_set_system", Global, Kind::Text, "utf8mb3", Fixed),
    ("character_sets_dir", Global, Kind::Text, "/", Fixed),
    ("collation_connection", Both, Kind::Collation, "utf8mb4_0900_ai_ci", Live),
    ("collation_database", Both, Kind::Collation, "utf8mb4_0900_ai_ci", Live),
    ("collation_server", Both, Kind::Collation, "utf8mb4_0900_ai_ci", Live),
    ("completion_type", Both, Kind::Text, "NO_CHAIN", Same),
    ("connect_timeout", Global, Kind::Int(2, 31536000), "10", Live),
    ("cte_max_recursion_depth", Both, Kind::Int(0, 4294967295), "1000", Hint),
    ("datadir", Global, Kind::Text, "./", Fixed),
    ("default_authentication_plugin", Global, Kind::Text, "caching_sha2_password", Fixed),
    ("default_collation_for_utf8mb4", Both, Kind::Collation, "utf8mb4_0900_ai_ci", Same),
    ("default_password_lifetime", Global, Kind::Int(0, 65535), "0", Same),
    ("default_storage_engine", Both, Kind::Text, "InnoDB", Hint),
    ("default_tmp_storage_engine", Both, Kind::Text, "InnoDB", Hint),
    ("default_week_format", Both, Kind::Int(0, 7), "0", Same),
    ("disabled_storage_engines", Global, Kind::Text, "", Fixed),
    ("div_precision_increment", Both, Kind::Int(0, 30), "4", Live),
    ("eq_range_index_dive_limit", Both, Kind::Int(0, 4294967295), "200", Hint),
    ("error_count", Session, Kind::Int(0, 65535), "0", Fixed),
    ("event_scheduler", Global, Kind::Text, "OFF", Same),
    ("explicit_defaults_for_timestamp", Both, Kind::Bool, "ON", Same),
    ("external_user", Session, Kind::Text, "", Fixed),
    ("flush", Global, Kind::Bool, "OFF", Hint),
    ("foreign_key_checks", Both, Kind::Bool, "ON", Hint),
    ("general_log", Global, Kind::Bool, "OFF", Same),
    ("group_concat_max_len", Both, Kind::Int(4, 18446744073709551615), "1024", Live),
    ("gtid_executed", Global, Kind::Text, "", Fixed),
    ("gtid_mode", Global, Kind::Text, "OFF", Fixed),
    ("gtid_next", Session, Kind::Text, "AUTOMATIC", Same),
    ("gtid_purged", Global, Kind::Text, "", Fixed),
    ("have_compress", Global, Kind::Text, "YES", Fixed),
    ("have_openssl", Global, Kind::Text, "YES", Fixed),
    ("have_profiling", Global, Kind::Text, "NO", Fixed),
    ("have_query_cache", Global, Kind::Text, "NO", Fixed),
    ("have_ssl", Global, Kind::Text, "YES", Fixed),
    ("have_statement_timeout", Global, Kind::Text, "YES", Fixed),
    ("hostname", Global, Kind::Text, "localhost", Fixed),
    ("identity", Session, Kind::Int(0, 18446744073709551615), "0", Alias),
    ("information_schema_stats_expiry", Both, Kind::Int(0, 31536000), "86400", Hint),
    ("init_connect", Global, Kind::Text, "", Same),
    ("innodb_autoinc_lock_mode", Global, Kind::Int(0, 2), "2", Fixed),
    ("innodb_buffer_pool_size", Global, Kind::Int(5242880, 18446744073709551615), "134217728", Fixed),
    ("innodb_deadlock_detect", Global, Kind::Bool, "ON", Same),
    ("innodb_default_row_format", Global, Kind::Text, "dynamic", Hint),
    ("innodb_file_per_table", Global, Kind::Bool, "ON", Hint),
    ("innodb_flush_log_at_timeout", Global, Kind::Int(1, 2700), "1", Same),
    ("innodb_flush_log_at_trx_commit", Global, Kind::Int(0, 2), "1", Live),
    ("innodb_flush_method", Global, Kind::Text, "fsync", Fixed),
    ("innodb_io_capacity", Global, Kind::Int(100, 18446744073709551615), "200", Hint),
    ("innodb_lock_wait_timeout", Both, Kind::Int(1, 1073741824), "50", Live),
    ("innodb_page_size", Global, Kind::Int(4096, 65536), "16384", Fixed),
    ("innodb_print_all_deadlocks", Global, Kind::Bool, "OFF", Hint),
    ("innodb_read_only", Global, Kind::Bool, "OFF", Fixed),
    ("innodb_rollback_on_timeout", Global, Kind::Bool, "OFF", Fixed),
    ("innodb_stats_on_metadata", Global, Kind::Bool, "OFF", Hint),
    ("innodb_strict_mode", Both, Kind::Bool, "ON", Hint),
    ("innodb_table_locks", Both, Kind::Bool, "ON", Hint),
    ("innodb_version", Global, Kind::Text, "8.0.33", Fixed),
    ("insert_id", Session, Kind::Int(0, 18446744073709551615), "0", Same),
    ("interactive_timeout", Both, Kind::Int(1, 31536000), "28800", Live),
    ("join_buffer_size", Both, Kind::Int(128, 18446744073709547520), "262144", Hint),
    ("keep_files_on_create", Both, Kind::Bool, "OFF", Hint),
    ("key_buffer_size", Global, Kind::Int(0, 18446744073709551615), "8388608", Hint),
    ("last_insert_id", Session, Kind::Int(0, 18446744073709551615), "0", Live),
    ("lc_messages", Both, Kind::Text, "en_US", Same),
    ("lc_time_names", Both, Kind::Text, "en_US", Same),
    ("license", Global, Kind::Text, "Apache-2.0", Fixed),
    ("local_infile", Global, Kind::Bool, "OFF", Same),
    ("lock_wait_timeout", Both, Kind::Int(1, 31536000), "31536000", Live),
    ("log_bin", Global, Kind::Bool, "OFF", Fixed),
    ("log_bin_trust_function_creators", Global, Kind::Bool, "OFF", Hint),
    ("log_error", Global, Kind::Text, "stderr", Fixed),
    ("log_output", Global, Kind::Text, "FILE", Hint),
    ("long_query_time", Both, Kind::Double, "10.000000", Hint),
    ("low_priority_updates", Both, Kind::Bool, "OFF", Hint),
    ("lower_case_file_system", Global, Kind::Bool, "OFF", Fixed),
    ("lower_case_table_names", Global, Kind::Int(0, 2), "0", Fixed),
    ("max_allowed_packet", Both, Kind::Int(1024, 1073741824), "67108864", Live),
    ("max_connect_errors", Global, Kind::Int(1, 18446744073709551615), "100", Hint),
    ("max_connections", Global, Kind::Int(1, 100000), "1040", Live),
    ("max_error_count", Both, Kind::Int(0, 65535), "1024", Live),
    ("max_execution_time", Both, Kind::Int(0, 4294967295), "0", Live),
    ("max_heap_table_size", Both, Kind::Int(16384, 18446744073709550592), "16777216", Hint),
    ("max_join_size", Both, Kind::Int(1, 18446744073709551615), "18446744073709551615", Hint),
    ("max_length_for_sort_data", Both, Kind::Int(4, 8388608), "4096", Hint),
    ("max_prepared_stmt_count", Global, Kind::Int(0, 4194304), "16382", Live),
    ("max_seeks_for_key", Both, Kind::Int(1, 18446744073709551615), "18446744073709551615", Hint),
    ("max_sort_length", Both, Kind::Int(4, 8388608), "1024", Hint),
    ("max_sp_recursion_depth", Both, Kind::Int(0, 255), "0", Hint),
    ("max_user_connections", Both, Kind::Int(0, 4294967295), "0", Same),
    ("min_examined_row_limit", Both, Kind::Int(0, 18446744073709551615), "0", Hint),
    ("net_buffer_length", Both, Kind::Int(1024, 1048576), "16384", Hint),
    ("net_read_timeout", Both, Kind::Int(1, 31536000), "30", Live),
    ("net_retry_count", Both, Kind::Int(1, 18446744073709551615), "10", Hint),
    ("net_write_timeout", Both, Kind::Int(1, 31536000), "60", Live),
    ("new", Both, Kind::Bool, "OFF", Same),
    ("offline_mode", Global, Kind::Bool, "OFF", Same),
    ("old_alter_table", Both, Kind::Bool, "OFF", Hint),
    ("open_files_limit", Global, Kind::Int(0, 18446744073709551615), "20000", Fixed),
    ("optimizer_prune_level", Both, Kind::Int(0, 1), "1", Hint),
    ("optimizer_search_depth", Both, Kind::Int(0, 62), "62", Hint),
    ("optimizer_switch", Both, Kind::Text, "index_merge=on,index_merge_union=on,index_merge_sort_union=on,index_merge_intersection=on,engine_condition_pushdown=on,index_condition_pushdown=on,mrr=on,mrr_cost_based=on,block_nested_loop=on,batched_key_access=off,materialization=on,semijoin=on,loosescan=on,firstmatch=on,duplicateweedout=on,subquery_materialization_cost_based=on,use_index_extensions=on,condition_fanout_filter=on,derived_merge=on,use_invisible_indexes=off,skip_scan=on,hash_join=on,subquery_to_derived=off,prefer_ordering_index=on,hypergraph_optimizer=off,derived_condition_pushdown=on", Hint),
    ("optimizer_trace", Both, Kind::Text, "enabled=off,one_line=off", Same),
    ("performance_schema", Global, Kind::Bool, "OFF", Fixed),
    ("pid_file", Global, Kind::Text, "", Fixed),
    ("plugin_dir", Global, Kind::Text, "/", Fixed),
    ("port", Global, Kind::Int(0, 65535), "4000", Fixed),
    ("preload_buffer_size", Both, Kind::Int(1024, 1073741824), "32768", Hint),
    ("print_identified_with_as_hex", Both, Kind::Bool, "OFF", Live),
    ("profiling", Both, Kind::Bool, "OFF", Same),
    ("protocol_compression_algorithms", Global, Kind::Text, "zlib,zstd,uncompressed", Fixed),
    ("protocol_version", Global, Kind::Int(0, 255), "10", Fixed),
    ("proxy_user", Session, Kind::Text, "", Fixed),
    ("pseudo_slave_mode", Session, Kind::Bool, "OFF", Hint),
    ("pseudo_thread_id", Session, Kind::Int(0, 2147483647), "0", Hint),
    ("query_alloc_block_size", Both, Kind::Int(1024, 4294966272), "8192", Hint),
    ("query_prealloc_size", Both, Kind::Int(8192, 18446744073709550592), "8192", Hint),
    ("rand_seed1", Session, Kind::Int(0, 4294967295), "0", Same),
    ("rand_seed2", Session, Kind::Int(0, 4294967295), "0", Same),
    ("range_alloc_block_size", Both, Kind::Int(4096, 4294966272), "4096", Hint),
    ("range_optimizer_max_mem_size", Both, Kind::Int(0, 18446744073709551615), "8388608", Hint),
    ("read_buffer_size", Both, Kind::Int(8192, 2147479552), "131072", Hint),
    ("read_only", Global, Kind::Bool, "OFF", Live),
    ("read_rnd_buffer_size", Both, Kind::Int(1, 2147483647), "262144", Hint),
    ("require_secure_transport", Global, Kind::Bool, "OFF", Fixed),
    ("resultset_metadata", Session, Kind::Text, "FULL", Same),
    ("secure_file_priv", Global, Kind::Text, "", Fixed),
    ("server_id", Global, Kind::Int(0, 4294967295), "1", Hint),
    ("server_uuid", Global, Kind::Text, "00000000-0000-0000-0000-000000000000", Fixed),
    ("session_track_gtids", Both, Kind::Text, "OFF", Same),
    ("session_track_schema", Both, Kind::Bool, "ON", Live),
    ("session_track_state_change", Both, Kind::Bool, "OFF", Live),
    ("session_track_system_variables", Both, Kind::Text, "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", Live),
    ("session_track_transaction_info", Both, Kind::Enum(&["OFF", "STATE", "CHARACTERISTICS"]), "OFF", Live),
    ("show_create_table_verbosity", Both, Kind::Bool, "OFF", Same),
    ("show_old_temporals", Both, Kind::Bool, "OFF", Hint),
    ("skip_external_locking", Global, Kind::Bool, "ON", Fixed),
    ("skip_name_resolve", Global, Kind::Bool, "ON", Fixed),
    ("skip_networking", Global, Kind::Bool, "OFF", Fixed),
    ("slow_query_log", Global, Kind::Bool, "OFF", Same),
    ("socket", Global, Kind::Text, "", Fixed),
    ("sort_buffer_size", Both, Kind::Int(32768, 18446744073709551615), "262144", Hint),
    ("sql_auto_is_null", Both, Kind::Bool, "OFF", Same),
    ("sql_big_selects", Both, Kind::Bool, "ON", Hint),
    ("sql_buffer_result", Both, Kind::Bool, "OFF", Hint),
    ("sql_log_bin", Session, Kind::Bool, "ON", Hint),
    ("sql_log_off", Both, Kind::Bool, "OFF", Hint),
    ("sql_mode", Both, Kind::SqlMode, "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION", Live),
    ("sql_notes", Both, Kind::Bool, "ON", Live),
    ("sql_quote_show_create", Both, Kind::Bool, "ON", Same),
    ("sql_require_primary_key", Both, Kind::Bool, "OFF", Same),
    ("sql_safe_updates", Both, Kind::Bool, "OFF", Live),
    ("sql_select_limit", Both, Kind::Int(0, 18446744073709551615), "18446744073709551615", Live),
    ("sql_warnings", Both, Kind::Bool, "OFF", Hint),
    ("ssl_ca", Global, Kind::Text, "", Fixed),
    ("ssl_cert", Global, Kind::Text, "", Fixed),
    ("ssl_key", Global, Kind::Text, "", Fixed),
    ("stemdb_gc_age", Global, Kind::Int(10, 31536000), "600", Live),
    ("stemdb_memory_limit", Both, Kind::Int(1048576, 18446744073709551615), "1073741824", Live),
    ("stemdb_route", Both, Kind::Enum(&["auto", "transactional", "analytical"]), "auto", Live),
    ("stemdb_skip_isolation_level_check", Both, Kind::Bool, "OFF", Live),
    ("stemdb_transaction_mode", Both, Kind::Enum(&["pessimistic", "optimistic"]), "pessimistic", Live),
    ("super_read_only", Global, Kind::Bool, "OFF", Same),
    ("sync_binlog", Global, Kind::Int(0, 4294967295), "1", Hint),
    ("system_time_zone", Global, Kind::Text, "UTC", Fixed),
    ("table_definition_cache", Global, Kind::Int(400, 524288), "2000", Hint),
    ("table_open_cache", Global, Kind::Int(1, 524288), "4000", Hint),
    ("thread_cache_size", Global, Kind::Int(0, 16384), "9", Hint),
    ("thread_handling", Global, Kind::Text, "one-thread-per-connection", Fixed),
    ("thread_stack", Global, Kind::Int(131072, 18446744073709550592), "1048576", Fixed),
    ("tidb_wait_split_region_finish", Session, Kind::Bool, "ON", Live),
    ("tidb_wait_split_region_timeout", Session, Kind::Int(1, 2147483647), "300", Live),
    ("time_zone", Both, Kind::TimeZone, "SYSTEM", Live),
    ("timestamp", Session, Kind::Double, "0", Live),
    ("tls_version", Global, Kind::Text, "TLSv1.2,TLSv1.3", Fixed),
    ("tmp_table_size", Both, Kind::Int(1024, 18446744073709551615), "16777216", Hint),
    ("tmpdir", Global, Kind::Text, "/tmp", Fixed),
    ("transaction_alloc_block_size", Both, Kind::Int(1024, 131072), "8192", Hint),
    ("transaction_isolation", Both, Kind::Isolation, "REPEATABLE-READ", Live),
    ("transaction_prealloc_size", Both, Kind::Int(1024, 131072), "4096", Hint),
    ("transaction_read_only", Both, Kind::Bool, "OFF", Live),
    ("unique_checks", Both, Kind::Bool, "ON", Hint),
    ("updatable_views_with_limit", Both, Kind::Text, "YES", Hint),
    ("version", Global, Kind::Text, "", Fixed),
    ("version_comment", Global, Kind::Text, "StemDB", Fixed),
    ("version_compile_machine", Global, Kind::Text, "x86_64", Fixed),
    ("version_compile_os", Global, Kind::Text, "Linux", Fixed),
    ("version_compile_zlib", Global, Kind::Text, "1.3", Fixed),
    ("wait_timeout", Both, Kind::Int(1, 31536000), "28800", Live),
    ("warning_count", Session, Kind::Int(0, 65535), "0", Fixed),
    ("windowing_use_high_precision", Both, Kind::Bool, "ON", Hint),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_so_that_lookup_finds_each() {
        for definition in all() {
            assert_eq!(
                lookup(definition.name).map(|d| d.index),
                Some(definition.index),
                "{}",
                definition.name
            );
        }
        assert!(lookup("WAIT_TIMEOUT").is_some());
        assert!(lookup("no_such_variable").is_none());
    }
}
