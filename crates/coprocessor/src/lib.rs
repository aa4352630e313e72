//! What TiKV's coprocessor is asked to compute, and how its responses are read: rows are stored in the layout that it
//! reads.
//!
//! - [`Program`]: a part of a plan as a `tipb.DAGRequest`. `expression` has the whitelist of what goes down, `columns`
//!   what is read of rows and index entries.
//! - [`Rows`]: responses as batches.
//! - `form`: how values look to a store. `tipb`: the messages.
//!
//! Not here: sending requests (`kv-tikv`, behind `kv::CoprocessorRequest`), which parts of a plan go down (`optimizer`), and
//! what runs where they do not (`executor`). Where to go next: `docs/cluster.md`, then [`Program`].

mod columns;
mod expression;
mod form;
mod program;
mod rows;
mod tipb;

pub use expression::goes_down;
pub use program::Program;
pub use rows::Rows;
