//! The privileges of accounts on columns.

use schema::model::SystemTraits;
use schema::privilege::Privilege;
use types::Result;

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text, yes};

pub(crate) struct ColumnPrivileges;

impl SystemTable for ColumnPrivileges {
    fn name(&self) -> &'static str {
        "information_schema.COLUMN_PRIVILEGES"
    }

    fn columns(&self) -> &'static str {
        r#"
GRANTEE varchar(292) ci NOT ""
TABLE_CATALOG varchar(512) ci NOT ""
TABLE_SCHEMA varchar(64) ci NOT ""
TABLE_NAME varchar(64) ci NOT ""
COLUMN_NAME varchar(64) ci NOT ""
PRIVILEGE_TYPE varchar(64) ci NOT ""
IS_GRANTABLE varchar(3) ci NOT ""
"#
    }

    fn traits(&self) -> SystemTraits {
        // MySQL fills it when it is read.
        SystemTraits::default()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for account in ctx.accounts() {
            for (database, table, granted) in account.privileges.granted_tables() {
                for privilege in granted.of_columns().iter() {
                    let with_it = granted
                        .columns
                        .iter()
                        .filter(|(_, granted)| granted.has(privilege));
                    rows.extend(with_it.map(|(column, _)| {
                        vec![
                            text(account.name()),
                            text(CATALOG),
                            text(database),
                            text(table),
                            text(column),
                            text(privilege.name()),
                            yes(granted.table.has(Privilege::Grant)),
                        ]
                    }));
                }
            }
        }
        Ok(rows)
    }
}
