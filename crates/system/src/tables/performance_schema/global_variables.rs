//! The global system variables.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::variable::named;

pub(crate) struct GlobalVariables;

impl SystemTable for GlobalVariables {
    fn name(&self) -> &'static str {
        "performance_schema.global_variables"
    }

    fn columns(&self) -> &'static str {
        r#"
VARIABLE_NAME varchar(64) ai NOT
VARIABLE_VALUE varchar(1024) ai NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(named(ctx.sources.server.variables(true)))
    }
}
