//! Indexes that are built by sorting, in a store with files: what ends a build, and what is left of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cluster::meta::{Meta, keys};
use kv::{EmbeddedEngine, EmbeddedOptions, Interrupt, Store};
use kv_rocksdb::{RocksOptions, RocksStorage};
use schema::model::SchemaState;
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
    for step in [Step::Scan, Step::SortedFile, Step::Ingest] {
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
            if step == Step::Ingest {
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

/// Changes while the rows are sorted, while the files become part of the store, and behind the last pass beside writers:
/// values that move to other rows, come back, or belong to two rows for a time.
#[test]
fn changes_beside_a_build_are_in_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let db = new_on(dir.path(), &faults);
    filled(&db, ROWS);
    let set = |id: i64, b: i64| {
        write_row(&db, "t", id, Some(&|_| [id, b % 5, b].map(Value::Int).to_vec())).unwrap()
    };
    let delete = |id: i64| write_row(&db, "t", id, None).unwrap();
    // Rows from `first` on.
    let change = |first: i64| {
        delete(first);
        // The value of the deleted row, and a value that another row gives away.
        set(first + ROWS, first);
        set(first + 1, first + 100_000);
        set(first + 2, first + 1);
        // A value that two rows have for a time: once the new row goes, once the old one.
        set(first + 2 * ROWS, first + 3);
        delete(first + 2 * ROWS);
        set(first + 3 * ROWS, first + 4);
        delete(first + 4);
        // And one that comes back.
        set(first + 5, first + 200_000);
        set(first + 5, first + 5);
        // One that has never been there long.
        set(first + 4 * ROWS, first + 300_000);
        delete(first + 4 * ROWS);
    };
    let sorting = faults.hold(Step::SortedFile);
    let adding = faults.hold(Step::Ingest);
    let building = {
        let db = Arc::clone(&db);
        let changes = vec![add_index("u", &["b"], true), add_index("k", &["a", "b"], false)];
        thread::spawn(move || alter(&db, "t", changes))
    };
    sorting.wait_for(1);
    change(10);
    drop(sorting);
    adding.wait_for(1);
    change(20);
    // Where the files go, there is nothing but them: writers have their entries elsewhere.
    let published = table(&db, "t");
    let job = db.history(0).unwrap().remove(0);
    let made = crate::job::Job::read(&db.cluster().store().latest(), job.id)
        .unwrap()
        .unwrap();
    let made = made.change.unwrap();
    for index in published
        .indexes
        .iter()
        .filter(|i| i.state == SchemaState::WriteOnly)
    {
        assert!(!made.new_indexes.contains(&index.id));
    }
    drop(adding);
    building.join().unwrap().unwrap();
    assert_eq!(checked(&db, "t"), ROWS as u64);
    db.collect_garbage();
    assert_eq!((left_entries(&db), left_files(dir.path())), (0, 0));
}

/// What changes behind the last pass beside writers, and a snapshot from before, which the index knows nothing of.
#[test]
fn the_last_changes_are_brought_while_the_table_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let db = new_on(dir.path(), &Faults::new());
    filled(&db, 50);
    let before = db.cluster().store().snapshot_now().unwrap();
    let job = begin(
        &db,
        &[add_index("u", &["b"], true), add_index("k", &["b", "a"], false)],
        true,
    );
    let ctx = context();
    let between = table(&db, "t");
    let set =
        |id: i64, b: i64| write_row(&db, "t", id, Some(&|_| [id, 0, b].map(Value::Int).to_vec())).unwrap();
    set(1, 101);
    let built = Build::begin(db.cluster(), &between, &job, ctx.watch())
        .unwrap()
        .run()
        .unwrap();
    set(2, 102);
    set(60, 2);
    write_row(&db, "t", 3, None).unwrap();
    built.complete().unwrap();
    let made = job.change.as_ref().unwrap();
    let entries = |ids: &[i64]| -> usize {
        let ranges = between.ranges_of_indexes(ids).into_iter().map(KeyRange::from);
        let latest = db.cluster().store().latest();
        ranges
            .map(|range| latest.scan_page(&range, usize::MAX, false).unwrap().len())
            .sum()
    };
    assert_eq!(entries(&made.new_indexes), 2 * 50);
    // A crash at this point: the build begins again beside the same deltas.
    let faults = Faults::new();
    drop((before, db));
    let db = open_on(dir.path(), &faults);
    write_row(&db, "t", 4, Some(&|_| [4, 0, 104].map(Value::Int).to_vec())).unwrap();
    db.resume_jobs(&Interrupt::new());
    let made = table(&db, "t");
    assert_eq!(made.public_indexes().count(), 3);
    assert_eq!(checked(&db, "t"), 50);
    assert!(made.check_readable_at(0).is_err());
    db.collect_garbage();
    assert_eq!(left_entries(&db), 0);
}

/// The last pass looks at what has changed since the pass before, and not at all that the writers have written during
/// the build.
#[test]
fn the_last_pass_does_not_search_the_delta() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let db = new_on(dir.path(), &faults);
    filled(&db, 50);
    let job = begin(
        &db,
        &[add_index("u", &["b"], true), add_index("k", &["b", "a"], false)],
        true,
    );
    let ctx = context();
    let between = table(&db, "t");
    let set =
        |id: i64, b: i64| write_row(&db, "t", id, Some(&|_| [id, 0, b].map(Value::Int).to_vec())).unwrap();
    for id in 1..40 {
        set(id, 100 + id);
    }
    let built = Build::begin(db.cluster(), &between, &job, ctx.watch())
        .unwrap()
        .run()
        .unwrap();
    let searched = faults.scans_of_changes();
    assert_eq!(searched, 2, "once for each index");
    // A value moves to another row, a row is removed, and one comes.
    set(1, 1);
    set(2, 101);
    write_row(&db, "t", 3, None).unwrap();
    set(60, 60);
    built.complete().unwrap();
    assert_eq!(faults.scans_of_changes(), searched);
    let made = job.change.as_ref().unwrap();
    let ranges = between.ranges_of_indexes(&made.new_indexes);
    let latest = db.cluster().store().latest();
    let count = |range| {
        latest
            .scan_page(&KeyRange::from(range), usize::MAX, false)
            .unwrap()
            .len()
    };
    assert_eq!(ranges.into_iter().map(count).sum::<usize>(), 2 * 50);
    local(&db).resume(&Interrupt::new());
    assert_eq!(checked(&db, "t"), 50);
}

/// A job of a release whose writers had no deltas is undone.
#[test]
fn a_build_without_deltas_does_not_go_on() {
    let dir = tempfile::tempdir().unwrap();
    {
        let db = new_on(dir.path(), &Faults::new());
        filled(&db, 50);
        let mut job = begin(&db, &[add_index("u", &["b"], true)], true);
        let mut indexed = Table::clone(&table(&db, "t"));
        // Nor one with deltas in a store that takes no files, to which the data were copied.
        let other = Store::memory();
        assert!(job.can_go_on(db.cluster().store()) && !job.can_go_on(&other));
        let made = job.change.as_mut().unwrap();
        made.delta_indexes.clear();
        assert!(!job.can_go_on(db.cluster().store()) && job.can_go_on(&other));
        let made = job.change.as_mut().unwrap();
        let index = indexed.indexes.iter_mut().find(|i| i.name == "u").unwrap();
        index.id = made.new_indexes[0];
        let database = db.cluster().schema().database("d").unwrap().id;
        let mut txn = Meta::begin(db.cluster().store()).unwrap();
        let mut meta = Meta::new(&mut txn);
        job.put(&mut meta).unwrap();
        meta.put(keys::table(database, indexed.id), &indexed).unwrap();
        txn.commit(kv::Durability::Sync).unwrap();
    }
    let db = open_on(dir.path(), &Faults::new());
    write_row(&db, "t", 4, Some(&|_| [4, 0, 104].map(Value::Int).to_vec())).unwrap();
    db.resume_jobs(&Interrupt::new());
    assert_eq!(table(&db, "t").indexes.len(), 1);
    db.collect_garbage();
    assert_eq!((checked(&db, "t"), left_entries(&db)), (50, 0));
}

/// A duplicate that comes with a row changed behind the last pass beside writers. Writers meet nothing of what the files
/// say of older rows.
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

/// ADMIN CANCEL DDL JOBS ends a pass that brings changes, too.
#[test]
fn a_cancelled_build_brings_no_changes() {
    let dir = tempfile::tempdir().unwrap();
    let db = new_on(dir.path(), &Faults::new());
    filled(&db, 50);
    let job = begin(&db, &[add_index("u", &["b"], true)], true);
    let ctx = context();
    let indexed = table(&db, "t");
    let build = Build::begin(db.cluster(), &indexed, &job, ctx.watch()).unwrap();
    let built = build.run().unwrap();
    write_row(&db, "t", 1, Some(&|_| [1, 0, 101].map(Value::Int).to_vec())).unwrap();
    db.cancel(job.id).unwrap();
    assert_eq!(fails(built.complete()).0, 8214);
}

/// While the last step waits for a transaction, what others change meanwhile is brought to the index.
#[test]
fn a_build_that_waits_brings_changes() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let db = new_on(dir.path(), &faults);
    filled(&db, 50);
    let adding = faults.hold(Step::Ingest);
    let building = {
        let db = Arc::clone(&db);
        thread::spawn(move || alter(&db, "t", vec![add_index("u", &["b"], true)]))
    };
    adding.wait_for(1);
    let between = table(&db, "t");
    let job = db.history(0).unwrap().remove(0);
    let latest = db.cluster().store().latest();
    let made = crate::job::Job::read(&latest, job.id)
        .unwrap()
        .unwrap()
        .change
        .unwrap();
    let built = || -> usize {
        let ranges = between.ranges_of_indexes(&made.new_indexes).into_iter();
        let pages = ranges.map(|range| latest.scan_page(&range.into(), usize::MAX, false).unwrap());
        pages.map(|page| page.len()).sum()
    };
    let locks = || TransactionLocks::new(db.cluster().metadata_locks().clone());
    let is_soon = |is_so: &dyn Fn() -> bool| {
        (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(2));
            is_so()
        })
    };
    let mut lasting = locks();
    lasting
        .acquire(between.id, Use::Read, &context().limit())
        .unwrap();
    drop(adding);
    let interrupt = Interrupt::new();
    let at_once = cluster::wait::WaitLimit {
        timeout: Duration::ZERO,
        interrupt: &interrupt,
    };
    let is_closed = || locks().acquire(between.id, Use::Read, &at_once).is_err();
    assert!(is_soon(&is_closed));
    write_row(&db, "t", 60, Some(&|_| [60, 0, 60].map(Value::Int).to_vec())).unwrap();
    assert!(is_soon(&|| built() == 51));
    drop(lasting);
    building.join().unwrap().unwrap();
    assert_eq!(checked(&db, "t"), 51);
}

/// A transaction that lasts keeps a resumed build from its last step. It builds nothing meanwhile.
#[test]
fn a_resumed_build_waits_for_transactions_first() {
    let dir = tempfile::tempdir().unwrap();
    let job = {
        let db = new_on(dir.path(), &Faults::new());
        filled(&db, 50);
        begin(&db, &[add_index("u", &["b"], true)], true)
    };
    let db = open_on(dir.path(), &Faults::new());
    let between = table(&db, "t");
    let mut locks = TransactionLocks::new(db.cluster().metadata_locks().clone());
    locks.acquire(between.id, Use::Write, &context().limit()).unwrap();
    local(&db).resume_within(Duration::ZERO, &Interrupt::new());
    assert_eq!(local(&db).pending(), 1);
    let made = job.change.unwrap();
    for range in between.ranges_of_indexes(&made.new_indexes) {
        assert!(db.cluster().store().is_blank(&range.into()).unwrap());
    }
    drop(locks);
    db.resume_jobs(&Interrupt::new());
    assert_eq!(table(&db, "t").public_indexes().count(), 2);
    assert_eq!(checked(&db, "t"), 50);
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
