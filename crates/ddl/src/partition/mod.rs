//! ALTER TABLE ... PARTITION BY, REMOVE PARTITIONING, and ADD, DROP, TRUNCATE, COALESCE, REORGANIZE, EXCHANGE
//! and REBUILD PARTITION.
//!
//! A change that moves no rows between partitions is one step, during which no other statement uses the
//! table. A change that moves rows rewrites those of the partitions that it removes, like any ALTER TABLE
//! that rewrites rows ([`crate::rewrite`]): to new places, while other statements run. The last step makes
//! these places part of the table.
//!
//! - [`statement`], [`exchange`]: the statements. [`plan`]: the definition afterwards.
//! - [`columns`]: the columns of the partitioning.

pub(crate) mod columns;
pub(crate) mod exchange;
pub(crate) mod plan;
pub(crate) mod statement;
