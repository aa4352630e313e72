//! What the tests of this crate share: definitions without a parser, rows without an executor.

use std::sync::Arc;
use std::time::Duration;

use functions::TimeZone;
use kv::{Durability, Interrupt, LockOptions, Reader, Store, TxnOptions};
use schema::definition::{AlterChange, Ddl, TableDefinition};
use schema::layout::{RowEncoder, RowHandle, TableLayout, row_key, table_range};
use schema::model::{Handle, SchemaState, Table};
use types::{Collation, Result, SqlMode, Value, Warning};

use crate::metadata_lock::{TransactionLocks, Use};
use crate::{Catalog, DdlContext};
pub(crate) use schema::test_support::*;

pub(crate) fn catalog() -> Arc<Catalog> {
    catalog_on(Store::memory())
}

pub(crate) fn catalog_on(store: Store) -> Arc<Catalog> {
    let catalog = Catalog::open(store).unwrap();
    create_database(&catalog, "d").unwrap();
    catalog
}

pub(crate) fn context() -> DdlContext {
    DdlContext {
        interrupt: Interrupt::new(),
        lock_wait: Duration::from_secs(20),
        now_us: 1_700_000_000_000_000,
        time_zone: TimeZone::UTC,
        sql_mode: SqlMode::default(),
        server_collation: Collation::DEFAULT,
        user: "'root'@'localhost'".to_owned(),
    }
}

pub(crate) fn create_database(catalog: &Catalog, name: &str) -> Result<Vec<Warning>> {
    let ddl = Ddl::CreateDatabase {
        name: name.to_owned(),
        if_not_exists: false,
        collation: None,
    };
    catalog.execute(&ddl, &context())
}

pub(crate) fn create(catalog: &Catalog, table: &str, definition: TableDefinition) -> Result<Vec<Warning>> {
    let ddl = Ddl::CreateTable {
        name: name(table),
        definition,
        if_not_exists: false,
    };
    catalog.execute(&ddl, &context())
}

pub(crate) fn alter(catalog: &Catalog, table: &str, changes: Vec<AlterChange>) -> Result<Vec<Warning>> {
    alter_with(catalog, table, changes, &context())
}

pub(crate) fn alter_with(
    catalog: &Catalog,
    table: &str,
    changes: Vec<AlterChange>,
    ctx: &DdlContext,
) -> Result<Vec<Warning>> {
    let ddl = Ddl::AlterTable {
        name: name(table),
        changes,
        way: std::default::Default::default(),
    };
    catalog.execute(&ddl, ctx)
}

pub(crate) fn table(catalog: &Catalog, table: &str) -> Arc<Table> {
    let name = name(table);
    catalog
        .schema()
        .require_table(&name.database, &name.name)
        .unwrap()
        .clone()
}

/// Writes a row and its entries, without looking at what is there.
pub(crate) fn insert(catalog: &Catalog, table: &Table, row: &[Value]) {
    let encoder = RowEncoder::new(table).unwrap();
    let handle = match table.handle {
        Handle::Hidden => RowHandle::Int(catalog.allocate_row_ids(table.id, 1).unwrap() as i64),
        _ => encoder.handle(row, TimeZone::UTC).unwrap(),
    };
    let mut txn = catalog.store().begin(TxnOptions::default()).unwrap();
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
pub(crate) fn rows(catalog: &Catalog, table: &Table) -> Vec<Vec<Value>> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let layout = TableLayout::new(table, &all).unwrap();
    catalog
        .store()
        .latest()
        .scan_page(&table_range(table).into(), usize::MAX, false)
        .unwrap()
        .iter()
        .map(|(key, value)| layout.decode_row_values(key, value, TimeZone::UTC).unwrap())
        .collect()
}

pub(crate) fn show(catalog: &Catalog, name: &str) -> String {
    schema::show_create::table(&table(catalog, name), None, &schema::show_create::Style::PLAIN)
}

/// Rows and indexes of a table agree; returns how many rows there are.
pub(crate) fn checked(catalog: &Catalog, name: &str) -> u64 {
    catalog
        .check_table(&table(catalog, name), &Interrupt::new())
        .unwrap()
        .rows
}

/// Makes a row that a table takes.
type MakeRow<'a> = &'a dyn Fn(&Table) -> Vec<Value>;

/// What the executor does for `REPLACE` or `DELETE` of one row of a table whose first column is the primary key: in a
/// transaction of its own, under the table's metadata lock and the node's lease, with every index as its state says.
/// `new` makes the row that the table as it is then takes. Returns the commit's timestamp.
///
/// # Errors
/// Those of the locks, of the lease and of the store.
pub(crate) fn write_row(
    catalog: &Catalog,
    table_name: &str,
    id: i64,
    new: Option<MakeRow<'_>>,
) -> Result<kv::Timestamp> {
    let ctx = context();
    let mut locks = TransactionLocks::new(catalog.metadata_locks());
    let name = name(table_name);
    let table = loop {
        locks.rely_on(catalog)?;
        let before = catalog
            .schema()
            .require_table(&name.database, &name.name)?
            .clone();
        locks.acquire(before.id, Use::Write, &ctx.limit())?;
        match catalog.schema().table(&name.database, &name.name) {
            Some(now) if (now.id, now.revision) == (before.id, before.revision) => break before,
            _ => locks.release_all(),
        }
    };
    let encoder = RowEncoder::new(&table)?;
    let layout = TableLayout::new(&table, &(0..table.columns.len()).collect::<Vec<_>>())?;
    let handle = RowHandle::Int(id);
    let key = row_key(&table, &handle);
    let mut txn = catalog.store().begin(TxnOptions::default())?;
    let wait = LockOptions::exclusive(Duration::from_secs(20));
    let lock = |txn: &mut kv::Transaction, key: &[u8]| -> Result<Option<Vec<u8>>> {
        Ok(txn.lock(&[key.to_vec()], &wait)?.remove(0).into_value())
    };
    if let Some(old) = lock(&mut txn, &key)? {
        let row = layout.decode_row_values(&key, &old, TimeZone::UTC)?;
        txn.delete(key.clone())?;
        for index in encoder.entry_indexes() {
            let entry = encoder.index_entry(index, &row, &handle, TimeZone::UTC)?;
            // In a unique index that is being built the entry may be another row's.
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
