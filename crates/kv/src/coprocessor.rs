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
    /// What their responses may take altogether, about. There is always one request.
    pub memory_bytes: usize,
}

/// The responses of all parts of the ranges, in key order.
pub trait CoprocessorResponses: Send {
    /// The next response. `None`: all ranges are done.
    fn next(&mut self) -> Result<Option<CoprocessorResponse>>;

    /// Counts that a store has computed nothing, so that the caller does.
    fn not_computed(&mut self, reason: &str);

    /// What the responses to the requests in flight may hold until they are taken, as far as it can be estimated.
    fn in_flight_bytes(&self) -> usize;
}

/// What a store has computed over a part of the ranges.
#[derive(Debug)]
pub struct CoprocessorResponse {
    /// The part: in key order, and behind that of the response before.
    pub ranges: Vec<KeyRange>,
    /// In the engine's own form (TiKV: a `tipb.SelectResponse`). The error says why the store computes nothing: the caller
    /// reads these ranges and computes by itself.
    pub result: std::result::Result<Vec<u8>, String>,
}
