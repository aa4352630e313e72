//! The privileges of accounts on columns.

use types::Result;

use super::tables_priv::set_value;
use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct ColumnsPriv;

impl SystemTable for ColumnsPriv {
    fn name(&self) -> &'static str {
        "mysql.columns_priv"
    }

    fn columns(&self) -> &'static str {
        r#"
Host char(255) ascii NOT ""
Db char(64) bin NOT ""
User char(32) bin NOT ""
Table_name char(64) bin NOT ""
Column_name char(64) ci NOT ""
Timestamp timestamp - NOT now on_update_now
Column_priv set('Select','Insert','Update','References') ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for (database, table, granted) in account.privileges.granted_tables() {
                for (column, privileges) in &granted.columns {
                    rows.push(vec![
                        text(&account.host),
                        text(database),
                        text(&account.user),
                        text(table),
                        text(column),
                        ctx.timestamp(granted.granted_us),
                        text(set_value(*privileges)),
                    ]);
                }
            }
        }
        Ok(rows)
    }
}
