//! What SET PERSIST has stored for the next start.

use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct PersistedVariables;

impl SystemTable for PersistedVariables {
    fn name(&self) -> &'static str {
        "performance_schema.persisted_variables"
    }

    fn columns(&self) -> &'static str {
        r#"
VARIABLE_NAME varchar(64) ai NOT
VARIABLE_VALUE varchar(1024) ai NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let persisted = ctx.sources.cluster.settings().persisted()?;
        let row = |record: cluster::settings::Persisted| {
            vec![text(record.name), record.value.map_or(Value::Null, Value::String)]
        };
        Ok(persisted.into_iter().map(row).collect())
    }
}
