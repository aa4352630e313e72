//! What a crash leaves of a bulk load: all of it after its end, and nothing before. The logs around it are whole.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, Interrupt, KeyRange, Reader, Store, TxnOptions};
use kv_rocksdb::{RocksOptions, recovery};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const PAIRS: u32 = 20_000;

fn key(n: u32) -> Vec<u8> {
    [b"load/".as_slice(), &n.to_be_bytes()].concat()
}

fn range() -> KeyRange {
    KeyRange::prefix("load/")
}

fn write(store: &Store, key: Vec<u8>, value: &str) {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    txn.put(key, value.into()).unwrap();
    txn.commit(Durability::Sync).unwrap();
}

/// The directory as `kill -9` would leave it now.
fn killed(dir: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let to = copy.path().join(entry.file_name());
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to).unwrap();
        } else {
            fs::create_dir(&to).unwrap();
            for inner in fs::read_dir(entry.path()).unwrap() {
                let inner = inner.unwrap();
                fs::copy(inner.path(), to.join(inner.file_name())).unwrap();
            }
        }
    }
    copy
}

/// How many pairs the killed store has in the range, after a check of all its files.
fn pairs_of(dir: &Path) -> usize {
    let copy = killed(dir);
    let checked = recovery::check(copy.path()).unwrap();
    assert!(checked.damage.is_empty(), "{:?}", checked.damage);
    let store = kv_rocksdb::open(copy.path(), RocksOptions::small()).unwrap();
    let mut found = 0;
    let count = &mut |_: &[u8], _: &[u8]| {
        found += 1;
        std::ops::ControlFlow::Continue(())
    };
    store.latest().scan(&range(), false, count).unwrap();
    assert!(!copy.path().join("load").exists());
    assert_eq!(store.latest().get(b"log").unwrap(), Some(b"synced".to_vec()));
    found
}

#[test]
fn a_crash_leaves_all_of_a_load_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    for round in 1..=3_u32 {
        write(&store, b"log".to_vec(), "synced");
        // Others may write the range meanwhile: RocksDB gives the files a sequence number of their own then.
        write(&store, key(PAIRS + round), "beside");
        let before = pairs_of(dir.path());
        let load = store.begin_load(&range(), None);
        let mut writer = load.writer(range());
        for n in 0..PAIRS {
            writer.put(&key(n), &[7; 100]).unwrap();
        }
        writer.close().unwrap();
        assert_eq!(pairs_of(dir.path()), before, "before the end");
        load.finish().unwrap();
        let all = (PAIRS + round) as usize;
        assert_eq!(pairs_of(dir.path()), all, "after it");
        write(&store, b"log".to_vec(), "synced");
        assert_eq!(pairs_of(dir.path()), all, "with a commit after it");
        write(&store, key(PAIRS + round), "later");
    }
    drop(store);
    assert_eq!(pairs_of(dir.path()), (PAIRS + 3) as usize);
}

#[test]
fn a_damaged_file_of_a_load_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    let load = store.begin_load(&range(), None);
    let mut writer = load.writer(range());
    (0..PAIRS).for_each(|n| writer.put(&key(n), &n.to_le_bytes().repeat(25)).unwrap());
    writer.close().unwrap();
    load.finish().unwrap();
    drop(store);
    let tables = fs::read_dir(dir.path()).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        (path.extension()? == "sst").then_some(path)
    });
    let largest = tables
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&largest, bytes).unwrap();
    let checked = recovery::check(dir.path()).unwrap();
    assert_eq!(checked.damage.len(), 1, "{:?}", checked.damage);
    fs::remove_file(&largest).unwrap();
    assert!(kv_rocksdb::open(dir.path(), RocksOptions::small()).is_err());
}

/// Of a place that readers know: a snapshot from before sees nothing of the load, one from after all of it, also in
/// a copy of the directory as a crash would leave it.
#[test]
fn a_load_at_a_commit_is_seen_from_that_commit_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    assert!(store.is_blank(&range()).unwrap());
    let before = store.snapshot_now().unwrap();
    // In the row cache: there is nothing.
    assert_eq!(before.get(&key(1)).unwrap(), None);
    let mut begin = store.begin(TxnOptions::default()).unwrap();
    begin.put(b"log".to_vec(), b"synced".to_vec()).unwrap();
    let ts = begin.commit(Durability::Sync).unwrap();
    let load = store.begin_load_at(&range(), ts, &Interrupt::new());
    let mut writer = load.writer(range());
    (0..PAIRS).for_each(|n| writer.put(&key(n), &[7; 100]).unwrap());
    writer.close().unwrap();
    assert!(store.is_blank(&range()).unwrap());
    load.finish().unwrap();
    assert!(!store.is_blank(&range()).unwrap());
    assert_eq!(before.get(&key(1)).unwrap(), None);
    let mut seen_before = 0;
    let count = &mut |_: &[u8], _: &[u8]| {
        seen_before += 1;
        std::ops::ControlFlow::Continue(())
    };
    before.scan(&range(), false, count).unwrap();
    assert_eq!(seen_before, 0);
    assert_eq!(
        store.snapshot_now().unwrap().get(&key(1)).unwrap(),
        Some(vec![7; 100])
    );
    assert_eq!(store.latest().get(&key(1)).unwrap(), Some(vec![7; 100]));
    assert_eq!(pairs_of(dir.path()), PAIRS as usize);
    // A deletion is not nothing: snapshots may need what was before it.
    let mut delete = store.begin(TxnOptions::default()).unwrap();
    delete.delete(b"other".to_vec()).unwrap();
    delete.put(b"another".to_vec(), Vec::new()).unwrap();
    delete.commit(Durability::Sync).unwrap();
    let mut delete = store.begin(TxnOptions::default()).unwrap();
    delete.delete(b"another".to_vec()).unwrap();
    delete.commit(Durability::Sync).unwrap();
    assert!(!store.is_blank(&KeyRange::prefix("another")).unwrap());
}

/// Many files that come above keys which are there already stop nobody.
#[test]
fn the_files_of_a_load_do_not_stop_writers() {
    const FILES: u32 = 60;
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    // In the first level, within the range of each file of the load.
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    for n in 0..FILES {
        txn.put(key(n * 100 + 50), b"before".to_vec()).unwrap();
    }
    txn.commit(Durability::Sync).unwrap();
    store.flush().unwrap();
    let load = store.begin_load(&range(), None);
    for n in 0..FILES {
        let mut writer = load.writer(KeyRange::new(key(n * 100), key((n + 1) * 100)));
        let keys = (0..100).filter(|m| *m != 50).map(|m| key(n * 100 + m));
        keys.for_each(|key| writer.put(&key, b"loaded").unwrap());
        writer.close().unwrap();
    }
    load.finish().unwrap();
    let stats = store.stats();
    let stopped = stats.iter().find(|(name, _)| *name == "write_stopped").unwrap();
    assert!(stopped.1 == 0.0, "{stopped:?}");
    write(&store, b"log".to_vec(), "synced");
}

/// A load that is given up in the middle: no thread writes a file behind its end.
#[test]
fn a_load_that_does_not_end_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    let load = store.begin_load(&range(), None);
    let mut writer = load.writer(range());
    // A little more than goes to a file: another thread is writing it.
    let pairs = u32::try_from(kv::load::FILE_BYTES >> 16).unwrap() + 1;
    (0..pairs).for_each(|n| writer.put(&key(n), &[7; 1 << 16]).unwrap());
    drop(writer);
    drop(load);
    assert_eq!(fs::read_dir(dir.path().join("load")).unwrap().count(), 0);
}

/// KILL ends a scan of what has changed since a snapshot, also where nothing has.
#[test]
fn a_scan_of_changes_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    write(&store, key(1), "value");
    let interrupt = Interrupt::new();
    let since = store.snapshot_for(&interrupt).unwrap();
    let mut visited = 0;
    let visit = &mut |_: &[u8], _, _: Option<&[u8]>| {
        visited += 1;
        Ok(())
    };
    store.scan_newer(&range(), &since, visit).unwrap();
    interrupt.raise();
    let stopped = store.scan_newer(&range(), &since, visit);
    assert_eq!(stopped, Err(kv::Error::Interrupted));
    assert_eq!(visited, 0);
}

/// A watch has what commits change in its range, deletions too, and the newest versions are found by these keys.
#[test]
fn changes_are_noted_by_key() {
    let dir = tempfile::tempdir().unwrap();
    let store = kv_rocksdb::open(dir.path(), RocksOptions::small()).unwrap();
    write(&store, key(1), "before");
    let watch = store.watch(&range()).unwrap();
    let since = store.snapshot_now().unwrap();
    write(&store, key(2), "value");
    let mut txn = store.begin(kv::TxnOptions::default()).unwrap();
    txn.delete(key(1)).unwrap();
    txn.put(b"elsewhere".to_vec(), b"".to_vec()).unwrap();
    txn.commit(kv::Durability::Sync).unwrap();
    let mut keys = watch.take().unwrap();
    keys.sort_unstable();
    assert_eq!(keys, [key(1), key(2)]);
    let mut found = Vec::new();
    let visit = &mut |key: &[u8], ts, value: Option<&[u8]>| {
        assert!(ts > since.ts());
        found.push((key.to_vec(), value.map(<[u8]>::to_vec)));
        Ok(())
    };
    keys.push(key(3));
    store.visit_newest(&keys, visit).unwrap();
    assert_eq!(found, [(key(1), None), (key(2), Some(b"value".to_vec()))]);
    assert_eq!(watch.take(), Some(Vec::new()));
}
