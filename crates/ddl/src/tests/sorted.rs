//! Indexes that are built by sorting, in a store with files: what ends a build, and what is left of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kv::{EmbeddedEngine, EmbeddedOptions, Interrupt, Store};
use kv_rocksdb::{RocksOptions, RocksStorage};
use testkit::{Faults, FaultyStorage, Step};

use super::jobs::{begin, filled, local};
use super::*;
use crate::load::LoadedTable;
use crate::sorted::Build;

const ROWS: i64 = 3_000;

fn open_on(dir: &Path, faults: &Arc<Faults>) -> Arc<SchemaChanger> {
    let safe_point = Arc::default();
    let storage = RocksStorage::open(dir, &RocksOptions::small(), &safe_point).unwrap();
    let storage = FaultyStorage::new(storage, faults);
    let options = EmbeddedOptions {
        background: false,
        ..EmbeddedOptions::default()
    };
    open(Store::new(Arc::new(EmbeddedEngine::new(
        storage, safe_point, options,
    ))))
}

fn new_on(dir: &Path, faults: &Arc<Faults>) -> Arc<SchemaChanger> {
    let db = open_on(dir, faults);
    create_database(&db, "d").unwrap();
    db
}

/// Keys of index entries that the table has no index for.
fn left_entries(db: &SchemaChanger) -> usize {
    let table = table(db, "t");
    let known: Vec<KeyRange> = table.data_ranges().into_iter().map(KeyRange::from).collect();
    let ids: Vec<i64> = table.indexes.iter().map(|index| index.id).collect();
    let is_left = |key: &[u8]| match codec::key::TableKey::parse(key) {
        Ok(codec::key::TableKey::Index { index_id, .. }) => !ids.contains(&index_id),
        _ => false,
    };
    let latest = db.cluster().store().latest();
    let stored = |range: &KeyRange| latest.scan_page(range, usize::MAX, false).unwrap();
    let keys = known.iter().flat_map(stored).map(|(key, _)| key);
    keys.filter(|key| is_left(key)).count()
}

/// Files of a load that are not a part of the store.
fn left_files(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("load")).map_or(0, Iterator::count)
}

#[derive(Debug, Clone, Copy)]
enum Stop {
    Kill,
    Cancel,
}

/// KILL and ADMIN CANCEL DDL JOBS at each step of a build.
#[test]
fn a_stopped_build_leaves_the_table_as_it_was() {
    for step in [Step::Scan, Step::SortedFile, Step::Flush, Step::Ingest] {
        for stop in [Stop::Kill, Stop::Cancel] {
            let dir = tempfile::tempdir().unwrap();
            let faults = Faults::new();
            let db = new_on(dir.path(), &faults);
            filled(&db, ROWS);
            let before = show(&db, "t");
            let ctx = context();
            let interrupt = Arc::clone(&ctx.interrupt);
            let progress = Arc::clone(&ctx.progress);
            let gate = faults.hold(step);
            let building = {
                let db = Arc::clone(&db);
                let changes = vec![add_index("u", &["b"], true), add_index("k", &["a", "b"], false)];
                thread::spawn(move || alter_with(&db, "t", changes, &ctx))
            };
            gate.wait_for(1);
            let jobs = db.history(0).unwrap();
            assert_eq!(jobs.len(), 1, "{step:?}");
            if step != Step::Scan {
                // All rows have been read: SHOW PROCESSLIST and ADMIN SHOW DDL JOBS say so.
                let seen = (0..1_000).any(|_| {
                    thread::sleep(Duration::from_millis(2));
                    progress.load(Ordering::Relaxed) == ROWS as u64
                });
                assert!(seen, "{step:?}");
            }
            if matches!(step, Step::Flush | Step::Ingest) {
                let job = &jobs[0];
                assert_eq!(
                    (job.rows, job.schema_state),
                    (ROWS as u64, "write reorganization")
                );
            }
            let expected = match stop {
                Stop::Kill => {
                    interrupt.raise();
                    1317
                }
                Stop::Cancel => {
                    db.cancel(jobs[0].id).unwrap();
                    8214
                }
            };
            drop(gate);
            let stopped = building.join().unwrap();
            assert_eq!(stopped.unwrap_err().code, expected, "{step:?} {stop:?}");
            assert_eq!(show(&db, "t"), before);
            assert!(db.history(0).unwrap().is_empty());
            assert_eq!(checked(&db, "t"), ROWS as u64);
            db.collect_garbage();
            assert_eq!(left_entries(&db), 0, "{step:?} {stop:?}");
            assert_eq!(left_files(dir.path()), 0, "{step:?} {stop:?}");
            alter(&db, "t", vec![add_index("u", &["b"], true)]).unwrap();
            assert_eq!(checked(&db, "t"), ROWS as u64);
        }
    }
}

/// A duplicate that comes with a row changed beside the build is found after the files have become part of the store.
/// Until the job is undone, writers must not meet what these say of older rows.
#[test]
fn a_failed_build_leaves_no_entries_of_older_rows() {
    let dir = tempfile::tempdir().unwrap();
    let db = new_on(dir.path(), &Faults::new());
    filled(&db, 50);
    let job = begin(&db, &[add_index("u", &["b"], true)], true);
    let ctx = context();
    let indexed = table(&db, "t");
    let build = Build::begin(db.cluster(), &indexed, &job, ctx.watch()).unwrap();
    let built = build.run().unwrap();
    let set = |id: i64, b: i64| write_row(&db, "t", id, Some(&|_| [id, 0, b].map(Value::Int).to_vec()));
    // Nothing says yet that row 7 has this value.
    set(5, 7).unwrap();
    set(9, 1_000).unwrap();
    let (code, message) = fails(built.complete());
    assert_eq!(
        (code, message.as_str()),
        (1062, "Duplicate entry '7' for key 't.u'")
    );
    set(60, 9).unwrap();
    local(&db).resume(&Interrupt::new());
}

/// A prepared table with one row, which is not visible yet.
fn loaded<'d>(db: &'d SchemaChanger, table: &str) -> LoadedTable<'d> {
    let definition = by_id(vec![not_null("id", int())], Vec::new());
    let prepared = db.prepare_table((&name(table), &definition, false), &context());
    let loaded = prepared.unwrap().0.unwrap();
    insert(db, &loaded, &[Value::Int(1)]);
    loaded
}

/// Rows of CREATE TABLE ... SELECT are destroyed if a crash keeps the table from becoming visible.
#[test]
fn rows_of_a_table_that_was_not_created_are_destroyed() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let rows_of = |db: &SchemaChanger| {
        let rows = KeyRange::prefix(b"t");
        db.cluster()
            .store()
            .latest()
            .scan_page(&rows, 1, false)
            .unwrap()
            .len()
    };
    {
        let db = new_on(dir.path(), &faults);
        let loaded = loaded(&db, "t");
        assert_eq!(db.history(0).unwrap()[0].kind, "create table");
        std::mem::forget(loaded);
    }
    let db = open_on(dir.path(), &faults);
    assert_eq!(rows_of(&db), 1);
    db.resume_jobs(&Interrupt::new());
    db.collect_garbage();
    assert_eq!((rows_of(&db), db.history(0).unwrap().len()), (0, 0));
    // With the table, the job has ended.
    db.publish_table(loaded(&db, "t"), &context()).unwrap();
    assert!(db.history(0).unwrap().is_empty());
    assert_eq!(checked(&db, "t"), 1);
    // A name that was taken meanwhile.
    let loaded = loaded(&db, "s");
    create(&db, "s", by_id(vec![not_null("id", int())], Vec::new())).unwrap();
    assert_eq!(db.publish_table(loaded, &context()).unwrap_err().code, 1050);
    assert!(db.history(0).unwrap().is_empty());
    db.collect_garbage();
    assert_eq!((checked(&db, "t"), checked(&db, "s")), (1, 0));
}
