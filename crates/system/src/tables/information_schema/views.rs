//! The views.

use schema::model::Table;
use schema::privilege::{Privilege, PrivilegeSet};
use schema::view::View;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct Views;

impl SystemTable for Views {
    fn name(&self) -> &'static str {
        "information_schema.VIEWS"
    }

    fn columns(&self) -> &'static str {
        r#"
TABLE_CATALOG varchar(64) bin NOT
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
VIEW_DEFINITION longtext bin NULL
CHECK_OPTION enum('NONE','LOCAL','CASCADED') bin NULL
IS_UPDATABLE enum('NO','YES') bin NULL
DEFINER varchar(288) bin NULL
SECURITY_TYPE varchar(7) bin NULL
CHARACTER_SET_CLIENT varchar(64) ci NOT
COLLATION_CONNECTION varchar(64) ci NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let tables = ctx.tables(1, 2)?.into_iter();
        let row = |table: &Table| {
            let view = table.view.as_ref()?;
            Some(row(table, view, shows_query(ctx, table, view)))
        };
        Ok(tables.filter_map(row).collect())
    }
}

/// The definer may see the query, and so may accounts with the privilege for SHOW CREATE VIEW.
fn shows_query(ctx: &Context<'_>, table: &Table, view: &View) -> bool {
    let server = ctx.sources.server;
    let (account, _) = server.account();
    let is_definer = (&account.user, &account.host) == (&view.definer.user, &view.definer.host);
    let needed = PrivilegeSet::SELECT | Privilege::ShowView.into();
    is_definer
        || server
            .privileges()
            .of_table(&table.database, &table.name)
            .contains(needed)
}

fn row(table: &Table, view: &View, shows_query: bool) -> Row {
    vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text(if shows_query { &view.query } else { "" }),
        text(view.check_option.map_or("NONE", |option| option.name())),
        text(if view.is_updatable { "YES" } else { "NO" }),
        Value::String(format!("{}@{}", view.definer.user, view.definer.host)),
        text(view.security.name()),
        text(view.charset_client.name()),
        text(view.collation_connection.name()),
    ]
}
