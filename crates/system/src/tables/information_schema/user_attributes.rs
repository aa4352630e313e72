//! COMMENT and ATTRIBUTE of accounts.

use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct UserAttributes;

impl SystemTable for UserAttributes {
    fn name(&self) -> &'static str {
        "information_schema.USER_ATTRIBUTES"
    }

    fn columns(&self) -> &'static str {
        r#"
USER char(32) bin NOT ""
HOST char(255) ascii NOT ""
ATTRIBUTE longtext mb4bin NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |account: &accounts::Account| {
            let attribute = account.options.attribute.clone();
            vec![
                text(&account.user),
                text(&account.host),
                attribute.map_or(Value::Null, Value::String),
            ]
        };
        Ok(ctx.accounts().iter().map(|account| row(account)).collect())
    }
}
