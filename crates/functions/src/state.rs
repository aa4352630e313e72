//! The state of functions between the rows of one statement.

use std::collections::HashMap;
use std::sync::Mutex;

use types::Value;

use crate::full_text::parsed::ParsedQueries;
use crate::math::sequence::Sequence;
use crate::pattern::regex_cache::RegexCache;
use crate::user_variable::UserVariable;

/// A part of [`crate::EvalContext`]. It is empty when a statement begins.
#[derive(Default)]
pub struct StatementState {
    /// `RAND(seed)`'s sequences, by the address of the call's arguments in the plan.
    pub(crate) random: Mutex<HashMap<usize, Sequence>>,
    pub(crate) regexes: RegexCache,
    pub(crate) full_text_queries: ParsedQueries,
    /// User variables that `@a := x` has assigned.
    assigned: Mutex<HashMap<String, UserVariable>>,
    /// The values of [`crate::Expr::Outer`], by slot.
    outer: Mutex<Vec<Value>>,
}

impl StatementState {
    /// Assigns to a user variable; the name is in lower case.
    pub fn assign(&self, name: String, value: impl Into<UserVariable>) {
        let mut assigned = self.assigned.lock().unwrap_or_else(|e| e.into_inner());
        assigned.insert(name, value.into());
    }

    pub(crate) fn assigned(&self, name: &str) -> Option<Value> {
        let assigned = self.assigned.lock().unwrap_or_else(|e| e.into_inner());
        assigned.get(name).map(|variable| variable.value.clone())
    }

    /// Sets the value of an outer column for the subquery that is opened next.
    pub fn set_outer(&self, slot: usize, value: Value) {
        let mut outer = self.outer.lock().unwrap_or_else(|e| e.into_inner());
        if outer.len() <= slot {
            outer.resize(slot + 1, Value::Null);
        }
        if let Some(place) = outer.get_mut(slot) {
            *place = value;
        }
    }

    pub(crate) fn outer(&self, slot: usize) -> Value {
        let outer = self.outer.lock().unwrap_or_else(|e| e.into_inner());
        outer.get(slot).cloned().unwrap_or(Value::Null)
    }

    /// Clears the state for another statement.
    pub fn clear(&mut self) {
        let assigned = self.assigned.get_mut().unwrap_or_else(|e| e.into_inner());
        let random = self.random.get_mut().unwrap_or_else(|e| e.into_inner());
        assigned.clear();
        random.clear();
        self.regexes.clear();
        self.full_text_queries.clear();
        self.outer.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
    }

    /// Removes the statement's assignments, which the session stores.
    pub fn take_assigned(&self) -> HashMap<String, UserVariable> {
        std::mem::take(&mut *self.assigned.lock().unwrap_or_else(|e| e.into_inner()))
    }
}
