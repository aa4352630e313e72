//! System variables: their definitions ([`super::rows`] lists them), and how to find one.

use std::collections::HashMap;
use std::sync::LazyLock;

pub use super::kinds::{Effect, Kind, Scope};
use super::rows::{ROWS, Row};

/// One system variable.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Position in [`all`], and of its value in lists of values.
    pub index: usize,
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    /// In the form of SHOW VARIABLES. If MySQL's default stands for a feature that StemDB does not have, this
    /// is StemDB's actual value. Exceptions are values that tools require: `innodb_file_per_table`,
    /// `default_storage_engine`. Sizes of what `performance_schema` does not measure are 0, as where MySQL does
    /// not measure it.
    pub default: &'static str,
    pub effect: Effect,
}

impl Definition {
    /// Whether each node has its own value, so that SET GLOBAL applies to one server only.
    pub fn is_of_node(&self) -> bool {
        matches!(
            self.name,
            "max_connections" | "server_id" | "general_log_file" | "slow_query_log_file"
        )
    }

    /// Whether only the configuration can set it, and no statement.
    pub fn is_of_start(&self) -> bool {
        matches!(self.name, "performance_schema" | "persisted_globals_load")
    }

    /// The text of warning 1287 for a statement that reads or sets it; `None` if MySQL will keep it.
    pub fn deprecation(&self) -> Option<String> {
        let instead = match self.name {
            "default_authentication_plugin" => "authentication_policy".to_owned(),
            "expire_logs_days" => "binlog_expire_logs_seconds".to_owned(),
            "have_ssl" => "performance_schema.tls_channel_status table".to_owned(),
            name if DEPRECATED.contains(&name) => String::new(),
            name if has_new_name(name) => new_name(name),
            _ => return None,
        };
        let instead = match instead.as_str() {
            "" => String::new(),
            name => format!(" Please use {name} instead."),
        };
        Some(format!(
            "'@@{}' is deprecated and will be removed in a future release.{instead}",
            self.name
        ))
    }

    /// Whether DEFAULT has no meaning for it.
    pub fn has_no_default(&self) -> bool {
        matches!(
            self.name,
            "gtid_purged" | "identity" | "insert_id" | "last_insert_id" | "rand_seed1" | "rand_seed2"
        )
    }

    /// The variable itself, if this is an old name of it.
    pub fn canonical(&self) -> &'static Definition {
        let own = &all()[self.index];
        if self.effect != Effect::Alias {
            return own;
        }
        let name = match self.name {
            "identity" => "last_insert_id".to_owned(),
            old => new_name(old),
        };
        lookup(&name).unwrap_or(own)
    }
}

/// Whether a name has a word that MySQL has replaced.
fn has_new_name(name: &str) -> bool {
    (name.contains("slave") || name.contains("master")) && !name.contains("master_key")
}

fn new_name(old: &str) -> String {
    old.replace("slave", "replica").replace("master", "source")
}

/// Those that MySQL will remove and replaces with nothing.
const DEPRECATED: &[&str] = &[
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
    static BY_NAME: LazyLock<HashMap<&'static str, usize>> =
        LazyLock::new(|| all().iter().map(|d| (d.name, d.index)).collect());
    let found = BY_NAME
        .get(name)
        .or_else(|| BY_NAME.get(name.to_ascii_lowercase().as_str()));
    found.map(|index| &all()[*index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_say_which_ones_replace_them() {
        let text = |name: &str| lookup(name).and_then(Definition::deprecation).unwrap_or_default();
        assert_eq!(
            text("slave_net_timeout"),
            "'@@slave_net_timeout' is deprecated and will be removed in a future release. Please use \
             replica_net_timeout instead."
        );
        assert!(text("profiling").ends_with("release."));
        assert_eq!(text("replica_net_timeout"), "");
        assert_eq!(text("binlog_rotate_encryption_master_key_at_startup"), "");
    }

    #[test]
    fn names_are_sorted_so_that_lookup_finds_each() {
        for definition in all() {
            assert_eq!(
                lookup(definition.name).map(|d| d.index),
                Some(definition.index),
                "{}",
                definition.name
            );
            let is_alias = definition.effect == Effect::Alias;
            assert_eq!(
                definition.canonical().index != definition.index,
                is_alias,
                "{}",
                definition.name
            );
        }
        assert!(lookup("WAIT_TIMEOUT").is_some());
        assert!(lookup("no_such_variable").is_none());
    }
}
