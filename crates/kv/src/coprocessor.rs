//! Computation where the data is: the stores run a program over ranges of keys and send only its results.
//!
//! An engine without a coprocessor evaluates nothing and reports that, so the caller reads the ranges and
//! computes itself. The same holds if the ranges have writes that the stores do not have: those of an open
//! transaction, and a session's own keys.

use crate::error::Result;
use crate::key_range::KeyRange;

/// What the stores compute, over which keys.
#[derive(Debug, Clone, Default)]
pub struct CoprocessorRequest {
    /// Disjoint and in key order.
    pub ranges: Vec<KeyRange>,
    /// In the engine's own form; for TiKV a `tipb.DAGRequest`.
    pub program: Vec<u8>,
    /// A response ends after about this many rows, and another request gets the rest. `None`: the program
    /// groups or sorts rows, so a part of its result is of no use.
    pub page_rows: Option<u64>,
    /// How many requests may be in flight.
    pub in_flight: usize,
    /// About how much memory their responses may take together. There is always one request.
    pub memory_bytes: usize,
}

/// The responses of all parts of the ranges, in key order.
pub trait CoprocessorResponses: Send {
    /// The next response. `None`: all ranges are done.
    fn next(&mut self) -> Result<Option<CoprocessorResponse>>;

    /// Notes that a store has not computed, so that the caller does.
    fn not_computed(&mut self, reason: &str);

    /// What the responses to the requests in flight may hold until they are taken, as far as it can be estimated.
    fn in_flight_bytes(&self) -> usize;
}

/// What a store has computed over a part of the ranges.
#[derive(Debug)]
pub struct CoprocessorResponse {
    /// The part: in key order, and after that of the response before.
    pub ranges: Vec<KeyRange>,
    /// In the engine's own form (TiKV: a `tipb.SelectResponse`). An error says why the store did not compute:
    /// the caller reads these ranges and computes itself.
    pub result: std::result::Result<Vec<u8>, String>,
}
