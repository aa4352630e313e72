//! The privileges of accounts on tables.

use schema::privilege::{Privilege, PrivilegeSet};
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct TablesPriv;

impl SystemTable for TablesPriv {
    fn name(&self) -> &'static str {
        "mysql.tables_priv"
    }

    fn columns(&self) -> &'static str {
        r#"
Host char(255) ascii NOT ""
Db char(64) bin NOT ""
User char(32) bin NOT ""
Table_name char(64) bin NOT ""
Grantor varchar(288) bin NOT ""
Timestamp timestamp - NOT now on_update_now
Table_priv set('Select','Insert','Update','Delete','Create','Drop','Grant','References','Index','Alter','Create View','Show view','Trigger') ci NOT ""
Column_priv set('Select','Insert','Update','References') ci NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for (database, table, granted) in account.privileges.granted_tables() {
                rows.push(vec![
                    text(&account.host),
                    text(database),
                    text(&account.user),
                    text(table),
                    text(&granted.grantor),
                    ctx.timestamp(granted.granted_us),
                    text(set_value(granted.table)),
                    text(set_value(granted.of_columns())),
                ]);
            }
        }
        Ok(rows)
    }
}

/// Privileges as the SET columns of `mysql` have them.
pub(crate) fn set_value(granted: PrivilegeSet) -> String {
    let member = |privilege: Privilege| match privilege {
        Privilege::Grant => "Grant".to_owned(),
        Privilege::CreateView => "Create View".to_owned(),
        other => {
            let name = other.name().to_ascii_lowercase();
            name[..1].to_ascii_uppercase() + &name[1..]
        }
    };
    granted.iter().map(member).collect::<Vec<_>>().join(",")
}
