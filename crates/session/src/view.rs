//! The parts of a session that a running statement reads, for evaluation contexts, virtual tables and SHOW.

use std::sync::Arc;

use syntax::ast::VariableScope;
use types::{Error, Result, Value, errno};

use crate::client::Client;
use crate::diagnostics::Diagnostics;
use crate::errors;
use crate::last_statement::LastStatement;
use crate::process::Process;
use crate::profiles::Profiles;
use crate::shared::Shared;
use crate::user_locks::SessionUserLocks;
use crate::user_variables::UserVariables;
use crate::variables::settings::Settings;
use crate::variables::values::typed;
use crate::variables::{Definition, Scope, SessionVariables, lookup};

/// See the module.
#[derive(Clone, Copy)]
pub struct SessionView<'a> {
    pub shared: &'a Arc<Shared>,
    pub process: &'a Arc<Process>,
    pub interrupted: &'a Arc<dyn Fn() -> bool + Send + Sync>,
    pub client: &'a Client,
    pub database: &'a Option<Arc<str>>,
    pub variables: &'a SessionVariables,
    pub settings: &'a Settings,
    pub user_variables: &'a UserVariables,
    pub user_locks: &'a Arc<SessionUserLocks>,
    pub last: &'a LastStatement,
    pub diagnostics: &'a Diagnostics,
    pub profiles: &'a Profiles,
}

impl SessionView<'_> {
    /// The time of NOW(), in microseconds since 1970.
    pub fn now_us(&self) -> i64 {
        self.settings.timestamp_us.unwrap_or_else(|| self.clock_us())
    }

    /// Microseconds since 1970.
    pub fn clock_us(&self) -> i64 {
        {
            let since = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default();
            i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
        }
    }

    /// The session's value of a system variable, as SHOW VARIABLES prints it.
    pub fn variable_text(&self, definition: &Definition) -> Option<Arc<str>> {
        match definition.canonical().name {
            "last_insert_id" => Some(self.last.insert_id.to_string().into()),
            "insert_id" => Some(self.last.forced_id.to_string().into()),
            "warning_count" => Some(self.diagnostics.previous.0.to_string().into()),
            "error_count" => Some(self.diagnostics.previous.1.to_string().into()),
            // The connection's id, unless the client has set another one, as the output of mysqlbinlog does.
            "pseudo_thread_id" => match self.variables.text(definition) {
                Some(set) if &*set != definition.default => Some(set),
                _ => Some(self.process.id.to_string().into()),
            },
            "timestamp" => Some(format!("{:.6}", self.now_us() as f64 / 1e6).into()),
            _ => self.variables.text(definition),
        }
    }

    /// All system variables that have a value of the session, or of the server.
    pub fn all_variables(&self, global: bool) -> Vec<(&'static str, Option<Arc<str>>)> {
        let value = |definition: &'static Definition| match (global, definition.scope) {
            (true, Scope::Session) => None,
            (true, _) | (_, Scope::Global) => Some(self.shared.variables.get(definition)),
            (false, _) => Some(self.variable_text(definition)),
        };
        crate::variables::definitions::all()
            .iter()
            .filter_map(|definition| Some((definition.name, value(definition)?)))
            .collect()
    }

    /// The value of `@@name`, for the planner.
    pub fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        if let Some(VariableScope::Persist | VariableScope::PersistOnly) = scope {
            return Err(errors::unknown_variable(&format!("persist.{name}")));
        }
        let definition = lookup(name).ok_or_else(|| errors::unknown_variable(name))?;
        let wrong = |kind: &str| {
            Error::new(
                errno::ER_INCORRECT_GLOBAL_LOCAL_VAR,
                format!("Variable '{}' is a {kind} variable", definition.name),
            )
        };
        let text = match (scope, definition.scope) {
            (Some(VariableScope::Global), Scope::Session) => return Err(wrong("SESSION")),
            (Some(VariableScope::Session), Scope::Global) => return Err(wrong("GLOBAL")),
            (Some(VariableScope::Global), _) | (_, Scope::Global) => self.shared.variables.get(definition),
            _ => self.variable_text(definition),
        };
        Ok(typed(definition.canonical(), text.as_deref()))
    }
}
