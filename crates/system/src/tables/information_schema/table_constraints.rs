//! The unique keys, foreign keys and CHECK constraints.

use types::Result;

use crate::keys::each_part;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct TableConstraints;

impl SystemTable for TableConstraints {
    fn name(&self) -> &'static str {
        "information_schema.TABLE_CONSTRAINTS"
    }

    fn columns(&self) -> &'static str {
        r#"
CONSTRAINT_CATALOG varchar(64) bin NOT
CONSTRAINT_SCHEMA varchar(64) bin NOT
CONSTRAINT_NAME varchar(64) ci NULL
TABLE_SCHEMA varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
CONSTRAINT_TYPE varchar(11) bin NOT ""
ENFORCED varchar(3) bin NOT ""
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = each_part(ctx, (3, 4), |table, index, _, sequence| {
            (index.unique && sequence == 1).then(|| {
                vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&index.name),
                    text(&table.database),
                    text(&table.name),
                    text(if index.primary { "PRIMARY KEY" } else { "UNIQUE" }),
                    text("YES"),
                ]
            })
        })?;
        for table in ctx.tables(3, 4)? {
            rows.extend(table.public_checks().map(|check| {
                vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&check.name),
                    text(&table.database),
                    text(&table.name),
                    text("CHECK"),
                    text(if check.enforced { "YES" } else { "NO" }),
                ]
            }));
            rows.extend(table.public_foreign_keys().map(|key| {
                vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&key.name),
                    text(&table.database),
                    text(&table.name),
                    text("FOREIGN KEY"),
                    text("YES"),
                ]
            }));
        }
        Ok(rows)
    }
}
