//! The registry of system tables: one file for each table that has rows.

mod information_schema;
mod mysql;
mod performance_schema;
mod process;
mod variable;

use crate::table::SystemTable;

/// All tables that have rows.
pub(crate) const TABLES: &[&dyn SystemTable] = &[
    &information_schema::administrable_role_authorizations::AdministrableRoleAuthorizations,
    &information_schema::applicable_roles::ApplicableRoles,
    &information_schema::character_sets::CharacterSets,
    &information_schema::check_constraints::CheckConstraints,
    &information_schema::cluster_processlist::ClusterProcesslist,
    &information_schema::collation_character_set_applicability::CollationCharacterSetApplicability,
    &information_schema::collations::Collations,
    &information_schema::column_privileges::ColumnPrivileges,
    &information_schema::column_statistics::ColumnStatistics,
    &information_schema::columns::Columns,
    &information_schema::columns_extensions::ColumnsExtensions,
    &information_schema::enabled_roles::EnabledRoles,
    &information_schema::engines::Engines,
    &information_schema::innodb_foreign::InnodbForeign,
    &information_schema::innodb_foreign_cols::InnodbForeignCols,
    &information_schema::innodb_ft_default_stopword::InnodbFtDefaultStopword,
    &information_schema::innodb_trx::InnodbTrx,
    &information_schema::key_column_usage::KeyColumnUsage,
    &information_schema::keywords::Keywords,
    &information_schema::partitions::Partitions,
    &information_schema::plugins::Plugins,
    &information_schema::processlist::Processlist,
    &information_schema::referential_constraints::ReferentialConstraints,
    &information_schema::role_table_grants::RoleTableGrants,
    &information_schema::schema_privileges::SchemaPrivileges,
    &information_schema::schemata::Schemata,
    &information_schema::schemata_extensions::SchemataExtensions,
    &information_schema::statistics::Statistics,
    &information_schema::table_constraints::TableConstraints,
    &information_schema::table_constraints_extensions::TableConstraintsExtensions,
    &information_schema::table_privileges::TablePrivileges,
    &information_schema::tables::Tables,
    &information_schema::tables_extensions::TablesExtensions,
    &information_schema::user_attributes::UserAttributes,
    &information_schema::user_privileges::UserPrivileges,
    &information_schema::views::Views,
    &mysql::columns_priv::ColumnsPriv,
    &mysql::db::Db,
    &mysql::default_roles::DefaultRoles,
    &mysql::global_grants::GlobalGrants,
    &mysql::role_edges::RoleEdges,
    &mysql::tables_priv::TablesPriv,
    &mysql::user::User,
    &performance_schema::data_lock_waits::DataLockWaits,
    &performance_schema::data_locks::DataLocks,
    &performance_schema::global_status::GlobalStatus,
    &performance_schema::global_variables::GlobalVariables,
    &performance_schema::metadata_locks::MetadataLocks,
    &performance_schema::persisted_variables::PersistedVariables,
    &performance_schema::processlist::Processlist,
    &performance_schema::session_status::SessionStatus,
    &performance_schema::session_variables::SessionVariables,
];

/// A table by its exact name; `None` for one that is always empty.
pub(crate) fn find(database: &str, name: &str) -> Option<&'static dyn SystemTable> {
    let is_named = |table: &&&dyn SystemTable| table.name().split_once('.') == Some((database, name));
    TABLES.iter().find(is_named).copied()
}
