//! The attributes that storage engines have given indexes: none.

use schema::model::Table;
use types::{Result, Value};

use crate::keys::all_indexes;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct TableConstraintsExtensions;

impl SystemTable for TableConstraintsExtensions {
    fn name(&self) -> &'static str {
        "information_schema.TABLE_CONSTRAINTS_EXTENSIONS"
    }

    fn columns(&self) -> &'static str {
        r#"
CONSTRAINT_CATALOG varchar(64) bin NOT
CONSTRAINT_SCHEMA varchar(64) bin NOT
CONSTRAINT_NAME varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
ENGINE_ATTRIBUTE json - NULL
SECONDARY_ENGINE_ATTRIBUTE json - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let row = |table: &Table, index: &str| {
            vec![
                text(CATALOG),
                text(&table.database),
                text(index),
                text(&table.name),
                Value::Null,
                Value::Null,
            ]
        };
        let mut rows = Vec::new();
        for table in ctx.tables(1, 3)? {
            let indexes = all_indexes(table);
            rows.extend(indexes.iter().map(|index| row(table, &index.name)));
            // MySQL lists the hidden key of a table without a primary key, too.
            let is_stored = !table.is_virtual() && table.view.is_none();
            if is_stored && !indexes.iter().any(|index| index.primary) {
                rows.push(row(table, "PRIMARY"));
            }
        }
        Ok(rows)
    }
}
