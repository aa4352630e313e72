//! Rows of the tables the server makes up: `information_schema` from the catalog, and the few that only the server
//! knows: processes, variables, status.

use arrow::record_batch::RecordBatch;
use catalog::information_schema::{self, ServerRows};
use executor::VirtualTables;
use functions::EvalContext;
use types::{Result, Value};

use crate::session::Session;
use crate::variables::definitions::{Scope, all};

/// The virtual tables as one session sees them.
pub struct ServerTables<'a> {
    pub session: &'a Session,
}

impl VirtualTables for ServerTables<'_> {
    fn rows(&self, database: &str, table: &str, eval: &EvalContext) -> Result<Vec<RecordBatch>> {
        information_schema::rows(&self.session.shared.catalog, database, table, self, eval)
    }
}

impl ServerRows for ServerTables<'_> {
    /// `information_schema.processlist`: ID, USER, HOST, DB, COMMAND, TIME, STATE, INFO.
    fn processes(&self) -> Vec<Vec<Value>> {
        let row = |process: std::sync::Arc<crate::process::Process>| {
            let activity = process.activity();
            let seconds = i64::try_from(activity.since.elapsed().as_secs()).unwrap_or(i64::MAX);
            vec![
                Value::UInt(process.id),
                Value::String(activity.user),
                Value::String(activity.host),
                activity.database.map_or(Value::Null, Value::String),
                Value::String(activity.command.to_owned()),
                Value::Int(seconds),
                Value::String(activity.state.to_owned()),
                activity.statement.map_or(Value::Null, |s| Value::String(s.to_string())),
            ]
        };
        self.session.shared.processes.all().into_iter().map(row).collect()
    }

    /// `performance_schema.global_variables` and `session_variables`: VARIABLE_NAME, VARIABLE_VALUE.
    fn variables(&self, global: bool) -> Vec<Vec<Value>> {
        let session = self.session;
        let value = |d: &crate::variables::Definition| match (global, d.scope) {
            (true, Scope::Session) => None,
            (true, _) | (_, Scope::Global) => Some(session.shared.variables.get(d)),
            (false, _) => Some(session.variable_text(d)),
        };
        let row = |d: &crate::variables::Definition| {
            let text = value(d)?;
            let text = text.map_or(Value::Null, |t| Value::String(t.to_string()));
            Some(vec![Value::String(d.name.to_owned()), text])
        };
        all().iter().filter_map(row).collect()
    }

    /// `performance_schema.global_status` and `session_status`: VARIABLE_NAME, VARIABLE_VALUE.
    fn status(&self) -> Vec<Vec<Value>> {
        let rows = self.session.shared.status(self.session).into_iter();
        rows.map(|(name, value)| vec![Value::String(name), Value::String(value)]).collect()
    }
}
