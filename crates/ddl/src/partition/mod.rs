//! ALTER TABLE ... PARTITION BY, REMOVE PARTITIONING, and ADD, DROP, TRUNCATE, COALESCE, REORGANIZE, EXCHANGE
//! and REBUILD PARTITION.
//!
//! What moves no row between partitions is one step, in which no other statement uses the table. What does
//! rewrites the rows of the partitions that it takes away, as any ALTER TABLE that rewrites rows
//! ([`crate::rewrite`]): while other statements run, to new places, which the last step makes the table's.
//!
//! - [`statement`], [`exchange`]: the statements. [`plan`]: the definition afterwards.
//! - [`columns`]: the columns that decide about partitions.

pub(crate) mod columns;
pub(crate) mod exchange;
pub(crate) mod plan;
pub(crate) mod statement;
