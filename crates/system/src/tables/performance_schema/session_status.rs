//! The status variables of the session.

use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::variable::named;

pub(crate) struct SessionStatus;

impl SystemTable for SessionStatus {
    fn name(&self) -> &'static str {
        "performance_schema.session_status"
    }

    fn columns(&self) -> &'static str {
        r#"
VARIABLE_NAME varchar(64) ai NOT
VARIABLE_VALUE varchar(1024) ai NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(named(ctx.sources.server.status(false)))
    }
}
