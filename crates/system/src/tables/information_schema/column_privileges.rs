//! The privileges of accounts on columns.

use schema::model::SystemTraits;
use types::Result;

use super::table_privileges::rows_of_tables;
use crate::table::{Context, Row, SystemTable};

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
        Ok(rows_of_tables(ctx, &|granted, row| {
            for privilege in granted.of_columns().iter() {
                let with_it = granted
                    .columns
                    .iter()
                    .filter(|(_, granted)| granted.has(privilege));
                with_it.for_each(|(column, _)| row(&[column.as_str()], privilege.name()));
            }
        }))
    }
}
