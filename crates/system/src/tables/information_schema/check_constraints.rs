//! The CHECK constraints of all tables.

use types::Result;

use crate::columns::escaped;
use crate::table::{Context, Row, SystemTable};
use crate::values::{CATALOG, text};

pub(crate) struct CheckConstraints;

impl SystemTable for CheckConstraints {
    fn name(&self) -> &'static str {
        "information_schema.CHECK_CONSTRAINTS"
    }

    fn columns(&self) -> &'static str {
        r#"
CONSTRAINT_CATALOG varchar(64) bin NOT
CONSTRAINT_SCHEMA varchar(64) bin NOT
CONSTRAINT_NAME varchar(64) ci NOT
CHECK_CLAUSE longtext bin NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for database in ctx.databases(1)? {
            let mut tables: Vec<_> = database
                .tables
                .values()
                .filter(|t| !t.checks.is_empty())
                .collect();
            tables.sort_by(|a, b| a.name.cmp(&b.name));
            let checks = tables
                .into_iter()
                .flat_map(|table| table.public_checks().map(move |c| (table, c)));
            rows.extend(checks.map(|(table, check)| {
                vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&check.name),
                    text(escaped(&check.expression.text)),
                ]
            }));
        }
        Ok(rows)
    }
}
