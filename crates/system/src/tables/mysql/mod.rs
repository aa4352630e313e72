//! Tables of `mysql`.

pub(super) mod columns_priv;
pub(super) mod db;
pub(super) mod default_roles;
pub(super) mod global_grants;
pub(super) mod role_edges;
pub(super) mod tables_priv;
pub(super) mod user;
