//! From the text of MySQL's dialect to a bound, typed plan: parsing, names and types, access paths, cost, the plan cache.

pub mod command;
pub mod plan;
