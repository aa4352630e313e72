//! The views.

use schema::model::Table;
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
CHECK_OPTION varchar(8) bin NULL
IS_UPDATABLE varchar(3) bin NULL
DEFINER varchar(288) bin NULL
SECURITY_TYPE varchar(7) bin NULL
CHARACTER_SET_CLIENT varchar(64) ci NOT
COLLATION_CONNECTION varchar(64) ci NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let tables = ctx.tables(1, 2)?.into_iter();
        let row = |table: &Table| table.view.as_ref().map(|view| row(table, view));
        Ok(tables.filter_map(row).collect())
    }
}

fn row(table: &Table, view: &View) -> Row {
    vec![
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        text(&view.query),
        text(view.check_option.map_or("NONE", |option| option.name())),
        text(if view.is_updatable { "YES" } else { "NO" }),
        Value::String(format!("{}@{}", view.definer.user, view.definer.host)),
        text(view.security.name()),
        text(view.charset_client.name()),
        text(view.collation_connection.name()),
    ]
}
