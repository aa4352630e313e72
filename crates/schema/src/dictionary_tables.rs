//! The tables of the database `mysql` in which MySQL has its data dictionary. No account may read them.
//!
//! Source: manual 14.1, "Data Dictionary Schema", and the tables of MySQL 8.0.33 that give error 3554.

/// What MySQL calls such a table; `None` if it is none.
pub(crate) fn kind_of(name: &str) -> Option<&'static str> {
    match name {
        "innodb_ddl_log" | "innodb_dynamic_metadata" => Some("system table"),
        _ => NAMES.binary_search(&name).ok().map(|_| "data dictionary table"),
    }
}

/// Sorted by name.
const NAMES: [&str; 30] = [
    "catalogs",
    "character_sets",
    "check_constraints",
    "collations",
    "column_statistics",
    "column_type_elements",
    "columns",
    "dd_properties",
    "events",
    "foreign_key_column_usage",
    "foreign_keys",
    "index_column_usage",
    "index_partitions",
    "index_stats",
    "indexes",
    "parameter_type_elements",
    "parameters",
    "resource_groups",
    "routines",
    "schemata",
    "st_spatial_reference_systems",
    "table_partition_values",
    "table_partitions",
    "table_stats",
    "tables",
    "tablespace_files",
    "tablespaces",
    "triggers",
    "view_routine_usage",
    "view_table_usage",
];
