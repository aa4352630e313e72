//! `performance_schema.data_lock_waits`: which transactions wait for which others.

use types::{Result, Value};

use crate::locks::{ENGINE, Locks, lock_id};
use crate::table::{Context, Row, SystemTable};
use crate::values::text;

pub(crate) struct DataLockWaits;

impl SystemTable for DataLockWaits {
    fn name(&self) -> &'static str {
        "performance_schema.data_lock_waits"
    }

    fn columns(&self) -> &'static str {
        r#"
ENGINE varchar(32) ai NOT
REQUESTING_ENGINE_LOCK_ID varchar(128) ai NOT
REQUESTING_ENGINE_TRANSACTION_ID bigint_unsigned - NULL
REQUESTING_THREAD_ID bigint_unsigned - NULL
REQUESTING_EVENT_ID bigint_unsigned - NULL
REQUESTING_OBJECT_INSTANCE_BEGIN bigint_unsigned - NOT
BLOCKING_ENGINE_LOCK_ID varchar(128) ai NOT
BLOCKING_ENGINE_TRANSACTION_ID bigint_unsigned - NULL
BLOCKING_THREAD_ID bigint_unsigned - NULL
BLOCKING_EVENT_ID bigint_unsigned - NULL
BLOCKING_OBJECT_INSTANCE_BEGIN bigint_unsigned - NOT
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let locks = Locks::now(ctx);
        let mut rows = Vec::new();
        for (locked, place) in locks.of_tables() {
            for waiter in &locked.waiting {
                // One that upgrades its lock does not wait for itself.
                for owner in locked.owners.iter().filter(|owner| **owner != waiter.owner) {
                    let mut row = vec![text(ENGINE)];
                    for one in [waiter.owner, *owner] {
                        row.extend([
                            text(lock_id(one, &place)),
                            Value::UInt(one),
                            locks.session(one),
                            Value::Null,
                            Value::UInt(place.table.id.unsigned_abs()),
                        ]);
                    }
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }
}
