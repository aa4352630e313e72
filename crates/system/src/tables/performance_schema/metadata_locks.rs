//! `performance_schema.metadata_locks`: the tables that transactions use, which keep their definitions from
//! changing. Those of LOCK TABLES and of schema changes are not among them.

use std::collections::HashMap;

use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct MetadataLocks;

impl SystemTable for MetadataLocks {
    fn name(&self) -> &'static str {
        "performance_schema.metadata_locks"
    }

    fn columns(&self) -> &'static str {
        r#"
OBJECT_TYPE varchar(64) ai NOT
OBJECT_SCHEMA varchar(64) ai NULL
OBJECT_NAME varchar(64) ai NULL
COLUMN_NAME varchar(64) ai NULL
OBJECT_INSTANCE_BEGIN bigint_unsigned - NOT
LOCK_TYPE varchar(32) ai NOT
LOCK_DURATION varchar(32) ai NOT
LOCK_STATUS varchar(32) ai NOT
SOURCE varchar(64) ai NULL
OWNER_THREAD_ID bigint_unsigned - NULL
OWNER_EVENT_ID bigint_unsigned - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let tables = ctx
            .schema
            .databases
            .values()
            .flat_map(|database| database.tables.values());
        let tables: HashMap<i64, _> = tables.map(|table| (table.id, table)).collect();
        let mut rows = Vec::new();
        for transaction in ctx.sources.server.transactions() {
            for used in &transaction.tables {
                let Some(table) = tables.get(&used.table) else {
                    continue;
                };
                rows.push(vec![
                    text("TABLE"),
                    text(&table.database),
                    text(&table.name),
                    Value::Null,
                    Value::UInt(table.id.unsigned_abs()),
                    text(if used.writes {
                        "SHARED_WRITE"
                    } else {
                        "SHARED_READ"
                    }),
                    text("TRANSACTION"),
                    text(if used.waits { "PENDING" } else { "GRANTED" }),
                    Value::Null,
                    Value::UInt(transaction.session),
                    Value::Null,
                ]);
            }
        }
        Ok(rows)
    }
}
