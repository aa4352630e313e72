//! Histograms that ANALYZE TABLE ... UPDATE HISTOGRAM has made.

use types::json::JsonBinary;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct ColumnStatistics;

impl SystemTable for ColumnStatistics {
    fn name(&self) -> &'static str {
        "information_schema.COLUMN_STATISTICS"
    }

    fn columns(&self) -> &'static str {
        r#"
SCHEMA_NAME varchar(64) bin NOT
TABLE_NAME varchar(64) bin NOT
COLUMN_NAME varchar(64) ci NOT
HISTOGRAM json - NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let interrupt = ctx.sources.server.interrupt();
        for table in ctx.tables(0, 1)?.into_iter().filter(|table| !table.is_virtual()) {
            let Some(statistics) = ctx.sources.statistics.collected(table.id, interrupt) else {
                continue;
            };
            let first = rows.len();
            for column in &table.columns {
                if let Some(histogram) = statistics.histogram(column.id) {
                    rows.push(vec![
                        text(&table.database),
                        text(&table.name),
                        text(&column.name),
                        JsonBinary::parse(histogram.json.as_bytes()).map_or(Value::Null, Value::Json),
                    ]);
                }
            }
            rows[first..].sort_by(|a, b| a[2].as_str().cmp(&b[2].as_str()));
        }
        Ok(rows)
    }
}
