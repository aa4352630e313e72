//! Computation beside the data: the stores run a program over ranges of keys, and only its results travel.
//!
//! An engine without stores of its own has no coprocessor. It evaluates nothing and says so, so the caller reads the
//! ranges and computes by itself. The same holds where the ranges have writes that the stores do not know: those of
//! an open transaction, and a session's own keys.

use crate::error::Result;
use crate::key_range::KeyRange;

/// What the stores compute, over which keys.
#[derive(Debug, Clone, Default)]
pub struct CoprocessorRequest {
    /// Disjoint and in key order.
    pub ranges: Vec<KeyRange>,
    /// In the engine's own form; for TiKV a `tipb.DAGRequest`.
    pub program: Vec<u8>,
    /// A response ends after about so many rows, and the rest is requested with another request. `None`: the program
    /// gathers rows, so that a part of its result means nothing.
    pub page_rows: Option<u64>,
    /// How many requests may be in flight.
    pub in_flight: usize,
}

/// The responses of all parts of the ranges, in key order.
pub trait CoprocessorResponses: Send {
    /// The next response, in the engine's own form (TiKV: a `tipb.SelectResponse`). `None`: all ranges are done.
    fn next(&mut self) -> Result<Option<Vec<u8>>>;
}
