//! Requests to TiKV's coprocessor, which computes parts of plans where the rows are, and the decoding of its
//! responses. It can, because rows are stored in the layout that it reads.
//!
//! - [`Program`]: a part of a plan as a `tipb.DAGRequest`. `expression` lists what may be pushed down,
//!   `columns` which columns of rows and index entries are read.
//! - [`Rows`]: responses as batches.
//! - `form`: how values are passed to a store. `tipb`: the messages.
//!
//! Not here: sending requests (`kv-tikv`, behind `kv::CoprocessorRequest`), choosing the parts of a plan to
//! push down (`optimizer`), and running the rest (`executor`). Where to go next: `docs/cluster.md`, then
//! [`Program`].

mod columns;
mod expression;
mod form;
mod program;
mod rows;
mod tipb;

pub use expression::goes_down;
pub use program::Program;
pub use rows::Rows;
