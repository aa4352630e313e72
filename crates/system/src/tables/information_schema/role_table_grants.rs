//! The privileges on tables of the session's active roles.

use schema::privilege::Privilege;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::tables::mysql::tables_priv::set_value;
use crate::values::{CATALOG, text, yes};

pub(crate) struct RoleTableGrants;

impl SystemTable for RoleTableGrants {
    fn name(&self) -> &'static str {
        "information_schema.ROLE_TABLE_GRANTS"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTOR varchar(97) ci NULL
GRANTOR_HOST varchar(256) ci NULL
GRANTEE char(32) bin NOT ""
GRANTEE_HOST char(255) ascii NOT ""
TABLE_CATALOG varchar(3) ci NOT ""
TABLE_SCHEMA char(64) bin NOT ""
TABLE_NAME char(64) bin NOT ""
PRIVILEGE_TYPE set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') ci NOT ""
IS_GRANTABLE varchar(3) ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let accounts = ctx.sources.accounts.current();
        let mut rows = Vec::new();
        for (user, host) in ctx.sources.server.account().1 {
            let Some(role) = accounts.get(user, host) else {
                continue;
            };
            for (database, tables) in &role.privileges.on_tables {
                for (table, granted) in tables {
                    let (grantor, grantor_host) = granted.grantor.rsplit_once('@').unwrap_or_default();
                    rows.push(vec![
                        text(grantor),
                        text(grantor_host),
                        text(user),
                        text(host),
                        text(CATALOG),
                        text(database),
                        text(table),
                        text(set_value(granted.table)),
                        yes(granted.table.has(Privilege::Grant)),
                    ]);
                }
            }
        }
        Ok(rows)
    }
}
