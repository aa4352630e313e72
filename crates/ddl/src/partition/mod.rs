//! ALTER TABLE ... PARTITION BY, REMOVE PARTITIONING, and ADD, DROP, TRUNCATE, COALESCE, REORGANIZE, EXCHANGE
//! and REBUILD PARTITION.
//!
//! No other statement uses the table meanwhile. What moves no row between partitions is one step. What does
//! copies rows to new places beside the old ones, under a job; then one step gives the table the new places, and
//! the old ones become garbage. So a crash at any point leaves the table as it was or as it is to be.
//!
//! - [`statement`], [`exchange`]: the statements. [`plan`]: the definition afterwards.
//! - [`copying`]: the job of a statement that copies rows; [`copy`]: how it copies them.
//! - [`columns`]: what other ALTER TABLEs cannot do.

pub(crate) mod columns;
mod copy;
pub(crate) mod copying;
pub(crate) mod exchange;
mod plan;
pub(crate) mod statement;
