//! `performance_schema.data_locks`: the rows that transactions have locked, and the requests that wait.

use types::{Result, Value};

use crate::locks::{ENGINE, Locks, lock_id, mode_name};
use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct DataLocks;

impl SystemTable for DataLocks {
    fn name(&self) -> &'static str {
        "performance_schema.data_locks"
    }

    fn columns(&self) -> &'static str {
        r#"
ENGINE varchar(32) ai NOT
ENGINE_LOCK_ID varchar(128) ai NOT
ENGINE_TRANSACTION_ID bigint_unsigned - NULL
THREAD_ID bigint_unsigned - NULL
EVENT_ID bigint_unsigned - NULL
OBJECT_SCHEMA varchar(64) ai NULL
OBJECT_NAME varchar(64) ai NULL
PARTITION_NAME varchar(64) ai NULL
SUBPARTITION_NAME varchar(64) ai NULL
INDEX_NAME varchar(64) ai NULL
OBJECT_INSTANCE_BEGIN bigint_unsigned - NOT
LOCK_TYPE varchar(32) ai NOT
LOCK_MODE varchar(32) ai NOT
LOCK_STATUS varchar(32) ai NOT
LOCK_DATA varchar(8192) ai NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let locks = Locks::now(ctx);
        let mut rows = Vec::new();
        for (locked, place) in locks.of_tables() {
            let held = locked.owners.iter().map(|owner| (*owner, locked.mode, "GRANTED"));
            let waiting = locked.waiting.iter();
            let waiting = waiting.map(|waiter| (waiter.owner, waiter.mode, "WAITING"));
            for (owner, mode, status) in held.chain(waiting) {
                rows.push(vec![
                    text(ENGINE),
                    text(lock_id(owner, &place)),
                    Value::UInt(owner),
                    locks.session(owner),
                    Value::Null,
                    text(&place.table.database),
                    text(&place.table.name),
                    place.partition.as_deref().map_or(Value::Null, text),
                    place.subpartition.as_deref().map_or(Value::Null, text),
                    text(&place.index),
                    Value::UInt(place.table.id.unsigned_abs()),
                    text("RECORD"),
                    text(mode_name(mode)),
                    text(status),
                    text(&place.data),
                ]);
            }
        }
        Ok(rows)
    }
}
