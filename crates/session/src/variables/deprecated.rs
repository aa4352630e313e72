//! The warnings for variables that MySQL has deprecated, which each use in a statement gets.

use types::Warning;

use super::{Definition, lookup};

/// Those that have no other name. Source: MySQL 8.0.33's answers.
const WITHOUT_REPLACEMENT: [&str; 24] = [
    "avoid_temporal_upgrade",
    "binlog_max_flush_queue_time",
    "delayed_insert_limit",
    "delayed_insert_timeout",
    "delayed_queue_size",
    "have_openssl",
    "have_profiling",
    "have_query_cache",
    "log_bin_use_v1_row_events",
    "master_info_repository",
    "max_delayed_threads",
    "max_insert_delayed_threads",
    "max_length_for_sort_data",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "relay_log_info_file",
    "relay_log_info_repository",
    "replica_parallel_type",
    "show_old_temporals",
    "slave_rows_search_algorithms",
    "terminology_use_previous",
    "transaction_prealloc_size",
    "transaction_write_set_extraction",
];

const READ_ONLY_IN_FUTURE: [&str; 3] = [
    "character_set_database",
    "collation_database",
    "default_collation_for_utf8mb4",
];

const ER_WARN_DEPRECATED_SYNTAX: u16 = 1287;
const ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT: u16 = 1681;

/// The warning for reading or setting a variable by this name.
pub fn of_use(definition: &Definition) -> Option<Warning> {
    let name = definition.name;
    let instead = match name {
        "default_authentication_plugin" => Some("authentication_policy".to_owned()),
        "expire_logs_days" => Some("binlog_expire_logs_seconds".to_owned()),
        "have_ssl" => Some("performance_schema.tls_channel_status table".to_owned()),
        _ => new_name(name),
    };
    let message = match instead {
        Some(instead) => format!(
            "'@@{name}' is deprecated and will be removed in a future release. Please use {instead} instead."
        ),
        None if WITHOUT_REPLACEMENT.contains(&name) => {
            format!("'@@{name}' is deprecated and will be removed in a future release.")
        }
        None => return None,
    };
    Some(Warning::warning(ER_WARN_DEPRECATED_SYNTAX, message))
}

/// The warning for setting a variable.
pub fn of_change(definition: &Definition) -> Option<Warning> {
    if definition.name == "temptable_use_mmap" {
        let message = "'temptable_use_mmap' is deprecated and will be removed in a future release.";
        return Some(Warning::warning(ER_WARN_DEPRECATED_SYNTAX, message));
    }
    match READ_ONLY_IN_FUTURE.contains(&definition.name) {
        true => Some(Warning::warning(
            ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
            format!(
                "Updating '{}' is deprecated. It will be made read-only in a future release.",
                definition.name
            ),
        )),
        false => of_use(definition),
    }
}

/// The name that has replaced one about replication.
fn new_name(name: &str) -> Option<String> {
    if !name.contains("slave") && !name.contains("master") {
        return None;
    }
    let new = name.replace("slave", "replica").replace("master", "source");
    lookup(&new).map(|_| new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str) -> Option<String> {
        of_use(lookup(name)?).map(|warning| warning.message)
    }

    #[test]
    fn old_names_point_to_new_ones() {
        assert_eq!(
            message("slave_net_timeout").as_deref(),
            Some(
                "'@@slave_net_timeout' is deprecated and will be removed in a future release. Please use \
                 replica_net_timeout instead."
            )
        );
        assert_eq!(
            message("slave_rows_search_algorithms").as_deref(),
            Some("'@@slave_rows_search_algorithms' is deprecated and will be removed in a future release.")
        );
        assert_eq!(message("replica_net_timeout"), None);
    }
}
