//! Every kind of inconsistency between rows and indexes is found and named.

use std::sync::Arc;

use kv::{Durability, TxnOptions};
use schema::layout::row_key;
use types::Value;

use super::*;
use crate::SchemaChanger;
use crate::test_support::*;

fn made() -> (Arc<SchemaChanger>, Arc<Table>) {
    made_on(kv::Store::memory())
}

fn made_on(store: kv::Store) -> (Arc<SchemaChanger>, Arc<Table>) {
    let db = open(store);
    create_database(&db, "d").unwrap();
    let columns = vec![
        not_null("id", int()),
        column("a", int()),
        column("b", varchar(10)),
    ];
    create(
        &db,
        "t",
        by_id(columns, vec![unique("u", &[1]), prefix(key("k", &[2]), 2)]),
    )
    .unwrap();
    let table = table(&db, "t");
    for id in 0..600 {
        let b = text(&format!("b{id}"));
        insert(&db, &table, &[Value::Int(id), Value::Int(id * 2), b]);
    }
    (db, table)
}

/// The entry of row `id` in an index.
fn entry(table: &Table, index: &str, id: i64) -> IndexEntry {
    let encoder = RowEncoder::new(table).unwrap();
    let index = table.indexes.iter().position(|i| i.name == index).unwrap();
    let row = [Value::Int(id), Value::Int(id * 2), text(&format!("b{id}"))];
    encoder
        .index_entry(index, &row, &RowHandle::Int(id), TimeZone::UTC)
        .unwrap()
}

fn put(db: &SchemaChanger, key: Vec<u8>, value: Option<Vec<u8>>) {
    let mut txn = db.cluster().store().begin(TxnOptions::default()).unwrap();
    match value {
        Some(value) => txn.put(key, value).unwrap(),
        None => txn.delete(key).unwrap(),
    }
    txn.commit(Durability::Os).unwrap();
}

fn found(db: &SchemaChanger, table: &Table) -> String {
    let error = check_table(db.cluster().store(), table, &Interrupt::new()).unwrap_err();
    assert_eq!(error.code, 8003);
    error.message
}

#[test]
fn a_sound_table_passes() {
    let (db, table) = made();
    let report = check_table(db.cluster().store(), &table, &Interrupt::new()).unwrap();
    assert_eq!(
        report,
        CheckReport {
            rows: 600,
            entries: 1200
        }
    );
    let killed = Interrupt::new();
    killed.raise();
    assert_eq!(
        check_table(db.cluster().store(), &table, &killed)
            .unwrap_err()
            .code,
        1317
    );
}

#[test]
fn what_memory_has_otherwise_than_the_store_is_found() {
    let faults = testkit::Faults::new();
    let (db, table) = made_on(testkit::faulty_memory_store(
        &faults,
        kv::EmbeddedOptions::default(),
    ));
    let damage = |key| kv::Damage {
        key,
        what: "other".to_owned(),
    };
    let row = row_key(&table, &RowHandle::Int(7));
    for keys in [
        vec![row.clone()],
        vec![entry(&table, "u", 7).key, entry(&table, "u", 8).key],
    ] {
        let more = if keys.len() > 1 { " (and 1 more keys)" } else { "" };
        let shown = hex(&keys[0]);
        keys.into_iter().for_each(|key| faults.damage(damage(key)));
        assert_eq!(
            found(&db, &table),
            format!("data inconsistency in table: d.t, key {shown}: other{more}")
        );
        check_table(db.cluster().store(), &table, &Interrupt::new()).unwrap();
    }
    // That of another table is not this one's.
    let mut elsewhere = row;
    elsewhere[0] = b'x';
    faults.damage(damage(elsewhere));
    check_table(db.cluster().store(), &table, &Interrupt::new()).unwrap();
}

#[test]
fn a_missing_entry_is_found() {
    let (db, table) = made();
    put(&db, entry(&table, "k", 300).key, None);
    assert_eq!(
        found(&db, &table),
        "data inconsistency in table: d.t, index: k, handle: 300, the row has no index entry"
    );
}

#[test]
fn an_entry_for_another_row_is_found() {
    let (db, table) = made();
    put(
        &db,
        entry(&table, "u", 10).key,
        Some(entry(&table, "u", 11).value),
    );
    assert!(
        found(&db, &table).starts_with("data inconsistency in table: d.t, index: u, handle: 10, index value")
    );
}

#[test]
fn an_entry_without_its_row_is_found() {
    let (db, table) = made();
    let extra = entry(&table, "k", 700);
    put(&db, extra.key, Some(extra.value));
    assert_eq!(
        found(&db, &table),
        "data inconsistency in table: d.t, index: k, handle: 700, the index entry has no row"
    );
    let (db, table) = made();
    put(&db, row_key(&table, &RowHandle::Int(5)), None);
    assert_eq!(
        found(&db, &table),
        "data inconsistency in table: d.t, index: u, handle: 5, the index entry has no row"
    );
}

#[test]
fn a_row_that_cannot_be_read_is_found() {
    let (db, table) = made();
    put(&db, row_key(&table, &RowHandle::Int(5)), Some(vec![1, 2, 3]));
    assert!(found(&db, &table).contains("a row cannot be read"));
}
