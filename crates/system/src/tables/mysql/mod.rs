//! Tables of `mysql`.

pub(super) mod db;
pub(super) mod user;
