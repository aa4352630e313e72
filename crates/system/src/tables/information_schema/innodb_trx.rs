//! `information_schema.INNODB_TRX`: the transactions that have locked rows, or wait for one.

use std::sync::Arc;
use std::time::Duration;

use kv::LockMode;
use std::collections::BTreeMap;
use types::{Result, Value};

use crate::locks::{Locks, lock_id};
use crate::table::{Context, Row, SystemTable};
use crate::values::text;
use schema::model::SystemTraits;

/// The width of `trx_requested_lock_id`.
const LOCK_ID_BYTES: usize = 105;
/// The width of `trx_query`.
const QUERY_BYTES: usize = 1024;

pub(crate) struct InnodbTrx;

impl SystemTable for InnodbTrx {
    fn name(&self) -> &'static str {
        "information_schema.INNODB_TRX"
    }

    fn columns(&self) -> &'static str {
        r#"
trx_id bigint_unsigned - NOT ""
trx_state varchar(13) ci NOT ""
trx_started datetime - NOT ""
trx_requested_lock_id varchar(105) ci NULL ""
trx_wait_started datetime - NULL ""
trx_weight bigint_unsigned - NOT ""
trx_mysql_thread_id bigint_unsigned - NOT ""
trx_query varchar(1024) ci NULL ""
trx_operation_state varchar(64) ci NULL ""
trx_tables_in_use bigint_unsigned - NOT ""
trx_tables_locked bigint_unsigned - NOT ""
trx_lock_structs bigint_unsigned - NOT ""
trx_lock_memory_bytes bigint_unsigned - NOT ""
trx_rows_locked bigint_unsigned - NOT ""
trx_rows_modified bigint_unsigned - NOT ""
trx_concurrency_tickets bigint_unsigned - NOT ""
trx_isolation_level varchar(16) ci NOT ""
trx_unique_checks int - NOT ""
trx_foreign_key_checks int - NOT ""
trx_last_foreign_key_error varchar(256) ci NULL ""
trx_adaptive_hash_latched int - NOT ""
trx_adaptive_hash_timeout bigint_unsigned - NOT ""
trx_is_read_only int - NOT ""
trx_autocommit_non_locking int - NOT ""
trx_schedule_weight bigint_unsigned - NULL ""
"#
    }

    fn traits(&self) -> SystemTraits {
        SystemTraits::default()
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        let locks = Locks::now(ctx);
        let mut found: BTreeMap<u64, OfTransaction> = BTreeMap::new();
        for locked in &locks.keys {
            for owner in &locked.owners {
                let known = found.entry(*owner).or_default();
                known.locked += 1;
                known.exclusive += u64::from(locked.mode == LockMode::Exclusive);
            }
            for waiter in &locked.waiting {
                let known = found.entry(waiter.owner).or_default();
                known.waits = Some((Arc::clone(&locked.key), waiter.since));
            }
        }
        let rows = found.iter().map(|(owner, held)| row(ctx, &locks, *owner, held));
        Ok(rows.collect())
    }
}

/// The locks of one transaction.
#[derive(Default)]
struct OfTransaction {
    locked: u64,
    exclusive: u64,
    /// The key that it waits for, and how long.
    waits: Option<(Arc<[u8]>, Duration)>,
}

fn row(ctx: &Context<'_>, locks: &Locks<'_>, owner: u64, held: &OfTransaction) -> Row {
    let now_us = cluster::now_us();
    let transaction = locks.transactions.get(&owner);
    // The owners of an embedded engine are the timestamps of their beginnings.
    let started_us = match ctx.sources.cluster.is_shared() {
        false => i64::try_from(kv::timestamp_to_ms(owner))
            .unwrap_or(0)
            .saturating_mul(1000),
        true => transaction.map_or(now_us, |found| found.since_us),
    };
    let waits_since = held.waits.as_ref().map(|(_, since)| {
        let waited_us = i64::try_from(since.as_micros()).unwrap_or(0);
        ctx.timestamp(now_us - waited_us)
    });
    let awaited = held.waits.as_ref().and_then(|(key, _)| locks.place(key));
    let awaited = awaited.map(|place| shortened(&lock_id(owner, &place), LOCK_ID_BYTES));
    let query = transaction.and_then(|found| found.statement.as_deref());
    let tables = transaction.map_or(0, |found| found.tables.len() as u64);
    vec![
        Value::UInt(owner),
        text(if held.waits.is_some() {
            "LOCK WAIT"
        } else {
            "RUNNING"
        }),
        ctx.timestamp(started_us),
        awaited.unwrap_or(Value::Null),
        waits_since.unwrap_or(Value::Null),
        Value::UInt(held.locked),
        Value::UInt(transaction.map_or(0, |found| found.session)),
        query.map_or(Value::Null, |query| shortened(query, QUERY_BYTES)),
        Value::Null,
        Value::UInt(tables),
        Value::UInt(tables),
        Value::UInt(held.locked),
        Value::UInt(0),
        Value::UInt(held.locked),
        // Only the transaction's session sees what it has written. It has locked each of these rows
        // exclusively.
        Value::UInt(held.exclusive),
        Value::UInt(0),
        text(transaction.map_or("REPEATABLE READ", |found| found.isolation)),
        Value::Int(1),
        Value::Int(1),
        Value::Null,
        Value::Int(0),
        Value::UInt(0),
        Value::Int(0),
        Value::Int(0),
        Value::Null,
    ]
}

fn shortened(value: &str, bytes: usize) -> Value {
    text(&value[..value.floor_char_boundary(bytes)])
}
