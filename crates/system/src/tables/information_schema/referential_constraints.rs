//! The foreign keys.

use schema::foreign_key::unique_index_named;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct ReferentialConstraints;

impl SystemTable for ReferentialConstraints {
    fn name(&self) -> &'static str {
        "information_schema.REFERENTIAL_CONSTRAINTS"
    }

    fn columns(&self) -> &'static str {
        r#"
CONSTRAINT_CATALOG varchar(64) bin NOT
CONSTRAINT_SCHEMA varchar(64) bin NOT
CONSTRAINT_NAME varchar(64) ci NULL
UNIQUE_CONSTRAINT_CATALOG varchar(64) bin NOT
UNIQUE_CONSTRAINT_SCHEMA varchar(64) bin NOT
UNIQUE_CONSTRAINT_NAME varchar(64) ci NULL
MATCH_OPTION enum('NONE','PARTIAL','FULL') bin NOT
UPDATE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT') bin NOT
DELETE_RULE enum('NO ACTION','RESTRICT','CASCADE','SET NULL','SET DEFAULT') bin NOT
TABLE_NAME varchar(64) bin NOT
REFERENCED_TABLE_NAME varchar(64) bin NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for table in ctx.tables(1, 9)? {
            for key in table.public_foreign_keys() {
                let parent = ctx.schema.table(&key.parent.database, &key.parent.name);
                let unique = parent.and_then(|parent| unique_index_named(parent, &key.parent_columns));
                rows.push(vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&key.name),
                    text(CATALOG),
                    text(&key.parent.database),
                    unique.map_or(Value::Null, text),
                    text("NONE"),
                    text(key.on_update.sql()),
                    text(key.on_delete.sql()),
                    text(&table.name),
                    text(&key.parent.name),
                ]);
            }
        }
        Ok(rows)
    }
}
