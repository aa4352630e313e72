//! The privileges of accounts on databases.

use schema::privilege::Privilege;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{flag, text};

pub(crate) struct Db;

impl SystemTable for Db {
    fn name(&self) -> &'static str {
        "mysql.db"
    }

    fn columns(&self) -> &'static str {
        r#"
Host char(255) ascii NOT ""
Db char(64) bin NOT ""
User char(32) bin NOT ""
Select_priv enum('N','Y') ci NOT N
Insert_priv enum('N','Y') ci NOT N
Update_priv enum('N','Y') ci NOT N
Delete_priv enum('N','Y') ci NOT N
Create_priv enum('N','Y') ci NOT N
Drop_priv enum('N','Y') ci NOT N
Grant_priv enum('N','Y') ci NOT N
References_priv enum('N','Y') ci NOT N
Index_priv enum('N','Y') ci NOT N
Alter_priv enum('N','Y') ci NOT N
Create_tmp_table_priv enum('N','Y') ci NOT N
Lock_tables_priv enum('N','Y') ci NOT N
Create_view_priv enum('N','Y') ci NOT N
Show_view_priv enum('N','Y') ci NOT N
Create_routine_priv enum('N','Y') ci NOT N
Alter_routine_priv enum('N','Y') ci NOT N
Execute_priv enum('N','Y') ci NOT N
Event_priv enum('N','Y') ci NOT N
Trigger_priv enum('N','Y') ci NOT N
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.all_accounts() {
            for (database, granted) in &account.privileges.on_databases {
                let mut row = vec![text(&account.host), text(database), text(&account.user)];
                row.extend(COLUMNS.iter().map(|privilege| flag(granted.has(*privilege))));
                rows.push(row);
            }
        }
        Ok(rows)
    }
}

/// The order of the columns differs from that of `mysql.user`.
const COLUMNS: [Privilege; 19] = [
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
    Privilege::Create,
    Privilege::Drop,
    Privilege::Grant,
    Privilege::References,
    Privilege::Index,
    Privilege::Alter,
    Privilege::CreateTemporaryTables,
    Privilege::LockTables,
    Privilege::CreateView,
    Privilege::ShowView,
    Privilege::CreateRoutine,
    Privilege::AlterRoutine,
    Privilege::Execute,
    Privilege::Event,
    Privilege::Trigger,
];
