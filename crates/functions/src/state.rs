//! What functions remember between the rows of one statement.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::math::random::Sequence;
use crate::pattern::regexp::Cache;

/// Kept in [`crate::EvalContext`]; made anew for every statement.
#[derive(Default)]
pub struct StatementState {
    /// `RAND(seed)`'s sequences, by the address of the call's arguments in the plan.
    pub(crate) random: Mutex<HashMap<usize, Sequence>>,
    pub(crate) regexes: Cache,
}
