//! What functions remember between the rows of one statement.

use std::collections::HashMap;
use std::sync::Mutex;

use types::Value;

use crate::math::sequence::Sequence;
use crate::pattern::regex_cache::RegexCache;

/// Kept in [`crate::EvalContext`]; made anew for every statement.
#[derive(Default)]
pub struct StatementState {
    /// `RAND(seed)`'s sequences, by the address of the call's arguments in the plan.
    pub(crate) random: Mutex<HashMap<usize, Sequence>>,
    pub(crate) regexes: RegexCache,
    /// User variables that `@a := x` has given new values.
    assigned: Mutex<HashMap<String, Value>>,
}

impl StatementState {
    pub(crate) fn assign(&self, name: String, value: Value) {
        let mut assigned = self.assigned.lock().unwrap_or_else(|e| e.into_inner());
        assigned.insert(name, value);
    }

    pub(crate) fn assigned(&self, name: &str) -> Option<Value> {
        let assigned = self.assigned.lock().unwrap_or_else(|e| e.into_inner());
        assigned.get(name).cloned()
    }

    /// Forgets everything: another statement begins.
    pub fn clear(&mut self) {
        let assigned = self.assigned.get_mut().unwrap_or_else(|e| e.into_inner());
        let random = self.random.get_mut().unwrap_or_else(|e| e.into_inner());
        assigned.clear();
        random.clear();
        self.regexes.clear();
    }

    /// What the statement has assigned, for the session to keep.
    pub fn take_assigned(&self) -> HashMap<String, Value> {
        std::mem::take(&mut *self.assigned.lock().unwrap_or_else(|e| e.into_inner()))
    }
}
