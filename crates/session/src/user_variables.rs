//! `@name`: the session's user variables.

use std::collections::HashMap;
use std::sync::Arc;

use functions::UserVariable;
use types::Value;

/// Values by name in lower case. Running statements share them, and an assignment meanwhile changes a copy.
#[derive(Default)]
pub struct UserVariables {
    values: Arc<HashMap<String, UserVariable>>,
    assignments: u64,
}

impl UserVariables {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values
            .get(&name.to_lowercase())
            .map(|variable| &variable.value)
    }

    pub fn set(&mut self, name: &str, value: impl Into<UserVariable>) {
        Arc::make_mut(&mut self.values).insert(name.to_lowercase(), value.into());
    }

    /// Stores what a statement has assigned.
    pub fn assign(&mut self, assigned: impl IntoIterator<Item = (String, UserVariable)>) {
        Arc::make_mut(&mut self.values).extend(assigned);
        self.assignments += 1;
    }

    /// How many statements have assigned to variables while they ran.
    pub fn assignments(&self) -> u64 {
        self.assignments
    }

    pub fn shared(&self) -> &Arc<HashMap<String, UserVariable>> {
        &self.values
    }

    /// Restores values that [`UserVariables::shared`] returned before.
    pub fn restore(&mut self, values: Arc<HashMap<String, UserVariable>>) {
        self.values = values;
    }

    pub fn clear(&mut self) {
        self.values = Arc::default();
    }
}
