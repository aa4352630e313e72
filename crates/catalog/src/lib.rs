//! Schemas: what databases, tables, columns and indexes there are, how they change, and the tables that describe them.

pub mod definition;
pub mod model;
