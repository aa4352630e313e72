//! Tables of `information_schema`.

mod sizes;

pub(super) mod administrable_role_authorizations;
pub(super) mod applicable_roles;
pub(super) mod character_sets;
pub(super) mod check_constraints;
pub(super) mod cluster_processlist;
pub(super) mod collation_character_set_applicability;
pub(super) mod collations;
pub(super) mod column_privileges;
pub(super) mod column_statistics;
pub(super) mod columns;
pub(super) mod enabled_roles;
pub(super) mod engines;
pub(super) mod innodb_foreign;
pub(super) mod innodb_foreign_cols;
pub(super) mod key_column_usage;
pub(super) mod keywords;
pub(super) mod partitions;
pub(super) mod plugins;
pub(super) mod processlist;
pub(super) mod referential_constraints;
pub(super) mod role_table_grants;
pub(super) mod schema_privileges;
pub(super) mod schemata;
pub(super) mod statistics;
pub(super) mod table_constraints;
pub(super) mod table_privileges;
pub(super) mod tables;
pub(super) mod user_attributes;
pub(super) mod user_privileges;
pub(super) mod views;
