//! Test helpers: definitions without a parser, rows without an executor. They panic if they fail.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use cluster::metadata_lock::Use;
use cluster::{Cluster, TransactionLocks};
use functions::TimeZone;
use kv::{Durability, Interrupt, LockOptions, Reader, Store, TxnOptions};
use schema::definition::{AlterChange, Ddl, TableDefinition};
use schema::layout::{RowEncoder, RowHandle, TableLayout, row_key, table_range};
use schema::model::{Database, Handle, SchemaState, Table};
use types::{Collation, Result, SqlMode, Value, Warning};

use crate::check::check_table;
use crate::{DdlContext, SchemaChanger};
pub use schema::test_support::*;

/// A new store with a database `d`.
pub fn new_db() -> Arc<SchemaChanger> {
    new_db_with(Vec::new())
}

/// A new store with databases that the server itself provides.
pub fn new_db_with(system: Vec<Arc<Database>>) -> Arc<SchemaChanger> {
    let cluster = Cluster::open(Store::memory(), system).unwrap();
    let db = SchemaChanger::open(cluster).unwrap();
    create_database(&db, "d").unwrap();
    db
}

/// Opens a store, as after a restart.
pub fn open(store: Store) -> Arc<SchemaChanger> {
    SchemaChanger::open(Cluster::open(store, Vec::new()).unwrap()).unwrap()
}

pub fn context() -> DdlContext {
    DdlContext {
        interrupt: Interrupt::new(),
        lock_wait: Duration::from_secs(20),
        now_us: 1_700_000_000_000_000,
        time_zone: TimeZone::UTC,
        sql_mode: SqlMode::default(),
        server_collation: Collation::DEFAULT,
        user: "'root'@'localhost'".to_owned(),
        foreign_key_checks: true,
        auto_increment: (1, 1),
        require_primary_key: false,
        warned: std::default::Default::default(),
        progress: std::default::Default::default(),
    }
}

pub fn create_database(db: &SchemaChanger, name: &str) -> Result<Vec<Warning>> {
    let ddl = Ddl::CreateDatabase {
        name: name.to_owned(),
        if_not_exists: false,
        collation: None,
    };
    Ok(db.execute(&ddl, &context())?.warnings)
}

pub fn create(db: &SchemaChanger, table: &str, definition: TableDefinition) -> Result<Vec<Warning>> {
    let ddl = Ddl::CreateTable {
        name: name(table),
        definition,
        if_not_exists: false,
    };
    Ok(db.execute(&ddl, &context())?.warnings)
}

pub fn alter(db: &SchemaChanger, table: &str, changes: Vec<AlterChange>) -> Result<Vec<Warning>> {
    alter_with(db, table, changes, &context())
}

pub fn alter_with(
    db: &SchemaChanger,
    table: &str,
    changes: Vec<AlterChange>,
    ctx: &DdlContext,
) -> Result<Vec<Warning>> {
    let ddl = Ddl::AlterTable {
        name: name(table),
        changes,
        way: std::default::Default::default(),
    };
    Ok(db.execute(&ddl, ctx)?.warnings)
}

pub fn table(db: &SchemaChanger, table: &str) -> Arc<Table> {
    let name = name(table);
    db.cluster()
        .schema()
        .require_table(&name.database, &name.name)
        .unwrap()
        .clone()
}

/// Writes a row and its entries, without reading existing ones.
pub fn insert(db: &SchemaChanger, table: &Table, row: &[Value]) {
    let encoder = RowEncoder::new(table).unwrap();
    let handle = match table.handle {
        Handle::Hidden => RowHandle::Int(db.cluster().ids().allocate_row_ids(table, 1).unwrap() as i64),
        _ => encoder.handle(row, TimeZone::UTC).unwrap(),
    };
    let mut txn = db.cluster().store().begin(TxnOptions::default()).unwrap();
    txn.put(
        row_key(table, &handle),
        encoder.row_value(row, TimeZone::UTC).unwrap(),
    )
    .unwrap();
    for index in encoder.entry_indexes() {
        let entry = encoder.index_entry(index, row, &handle, TimeZone::UTC).unwrap();
        txn.put(entry.key, entry.value).unwrap();
    }
    txn.commit(Durability::Os).unwrap();
}

/// All rows, in key order.
pub fn rows(db: &SchemaChanger, table: &Table) -> Vec<Vec<Value>> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let layout = TableLayout::new(table, &all).unwrap();
    db.cluster()
        .store()
        .latest()
        .scan_page(&table_range(table).into(), usize::MAX, false)
        .unwrap()
        .iter()
        .map(|(key, value)| layout.decode_row_values(key, value, TimeZone::UTC).unwrap())
        .collect()
}

pub fn show(db: &SchemaChanger, name: &str) -> String {
    schema::show_create::table(&table(db, name), None, &schema::show_create::Style::PLAIN)
}

/// Checks that rows and indexes of a table agree. Returns the number of rows.
pub fn checked(db: &SchemaChanger, name: &str) -> u64 {
    check_table(db.cluster().store(), &table(db, name), &Interrupt::new())
        .unwrap()
        .rows
}

/// Makes a row for a table.
type MakeRow<'a> = &'a dyn Fn(&Table) -> Vec<Value>;

/// Writes one row of a table whose first column is the primary key, like the executor for `REPLACE` or
/// `DELETE`: in its own transaction, under the table's metadata lock and the node's lease, and with each
/// index handled according to its state. `new` makes the row for the definition of that moment. Returns the
/// commit's timestamp.
///
/// # Errors
/// Those of the locks, of the lease and of the store.
pub fn write_row(
    db: &SchemaChanger,
    table_name: &str,
    id: i64,
    new: Option<MakeRow<'_>>,
) -> Result<kv::Timestamp> {
    let ctx = context();
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    let name = name(table_name);
    let table = loop {
        locks.rely_on(db.cluster().lease())?;
        let before = db
            .cluster()
            .schema()
            .require_table(&name.database, &name.name)?
            .clone();
        locks.acquire(before.id, Use::Write, &ctx.limit())?;
        match db.cluster().schema().table(&name.database, &name.name) {
            Some(now) if (now.id, now.revision) == (before.id, before.revision) => break before,
            _ => locks.release_all(),
        }
    };
    let encoder = RowEncoder::new(&table)?;
    let layout = TableLayout::new(&table, &(0..table.columns.len()).collect::<Vec<_>>())?;
    let handle = RowHandle::Int(id);
    let key = row_key(&table, &handle);
    let mut txn = db.cluster().store().begin(TxnOptions::default())?;
    let wait = LockOptions::exclusive(Duration::from_secs(20));
    let lock = |txn: &mut kv::Transaction, key: &[u8]| -> Result<Option<Vec<u8>>> {
        Ok(txn.lock(&[key.to_vec()], &wait)?.remove(0).into_value())
    };
    if let Some(old) = lock(&mut txn, &key)? {
        let row = layout.decode_row_values(&key, &old, TimeZone::UTC)?;
        txn.delete(key.clone())?;
        for index in encoder.entry_indexes() {
            let entry = encoder.index_entry(index, &row, &handle, TimeZone::UTC)?;
            // In a unique index that is being built, the entry may belong to another row.
            if lock(&mut txn, &entry.key)?.is_none_or(|value| value == entry.value) {
                txn.delete(entry.key)?;
            }
        }
    }
    if let Some(new) = new {
        let row = new(&table);
        txn.put(key, encoder.row_value(&row, TimeZone::UTC)?)?;
        for index in encoder.entry_indexes() {
            if table.indexes[index].state < SchemaState::WriteOnly {
                continue;
            }
            let entry = encoder.index_entry(index, &row, &handle, TimeZone::UTC)?;
            let stored = lock(&mut txn, &entry.key)?;
            if entry.distinct && stored.is_some_and(|value| value != entry.value) {
                return Err(types::Error::new(types::errno::ER_DUP_ENTRY, "duplicate"));
            }
            txn.put(entry.key, entry.value)?;
        }
    }
    Ok(txn.commit_within(Durability::Os, locks.fence())?)
}
