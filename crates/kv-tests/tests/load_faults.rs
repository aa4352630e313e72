//! What goes wrong at the end of a bulk load, where its files become part of the store.

// Clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

use kv::{
    Durability, EmbeddedEngine, EmbeddedOptions, Error, Interrupt, KeyRange, Load, Reader, Store, TxnOptions,
};
use kv_rocksdb::{RocksOptions, RocksStorage};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use testkit::{Fault, Faults, FaultyStorage};

fn store(dir: &std::path::Path, faults: &Arc<Faults>) -> Store {
    let safe_point = Arc::default();
    let storage = RocksStorage::open(dir, &RocksOptions::small(), &safe_point).unwrap();
    let storage = FaultyStorage::new(storage, faults);
    Store::new(Arc::new(EmbeddedEngine::new(
        storage,
        safe_point,
        EmbeddedOptions::default(),
    )))
}

fn load(store: &Store, interrupt: Option<&Arc<Interrupt>>) -> Load {
    let range = KeyRange::prefix("load/");
    let load = store.begin_load(&range, interrupt);
    let mut writer = load.writer(range);
    writer.put(b"load/1", b"value").unwrap();
    writer.close().unwrap();
    load
}

fn commit(store: &Store) -> kv::Result<()> {
    let mut txn = store.begin(TxnOptions::default())?;
    txn.put(b"other".to_vec(), b"x".to_vec())?;
    txn.commit(Durability::Sync).map(drop)
}

/// Whether the files are there is unknown: so is the outcome of the load, and nothing is written before the next start
/// has told, as after a commit of that kind.
#[test]
fn an_unknown_outcome_is_reported_as_such() {
    let failure = Error::Io("on purpose".to_owned());
    for (fault, arrives) in [
        (Fault::Lost(failure.clone()), false),
        (Fault::Arrived(failure.clone()), true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let faults = Faults::new();
        let store = store(dir.path(), &faults);
        commit(&store).unwrap();
        faults.next_ingest(fault);
        let outcome = load(&store, None).finish();
        assert!(matches!(outcome, Err(Error::Undetermined(_))), "{outcome:?}");
        let refused = commit(&store);
        assert!(matches!(refused, Err(Error::StoreReadOnly(_))), "{refused:?}");
        let refused = load(&store, None).finish();
        assert!(matches!(refused, Err(Error::StoreReadOnly(_))), "{refused:?}");
        drop(store);
        let store = self::store(dir.path(), &faults);
        assert_eq!(store.latest().get(b"load/1").unwrap().is_some(), arrives);
        commit(&store).unwrap();
    }
}

#[test]
fn a_definite_failure_leaves_the_store_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let store = store(dir.path(), &faults);
    let full = Error::DiskFull("on purpose".to_owned());
    faults.next_ingest(Fault::Refused(full.clone()));
    assert_eq!(load(&store, None).finish(), Err(full));
    assert_eq!(store.latest().get(b"load/1").unwrap(), None);
    commit(&store).unwrap();
    assert_eq!(load(&store, None).finish(), Ok(1));
    assert!(store.latest().get(b"load/1").unwrap().is_some());
}

/// A collection that hangs does not keep a load, and those who wait for its table, for ever.
#[test]
fn the_wait_for_a_collection_can_be_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let faults = Faults::new();
    let store = store(dir.path(), &faults);
    let gate = faults.hold_collections();
    let interrupt = Interrupt::new();
    thread::scope(|scope| {
        let collecting = scope.spawn(|| store.run_gc());
        gate.wait_for(1);
        let loading = scope.spawn(|| load(&store, Some(&interrupt)).finish());
        thread::sleep(Duration::from_millis(20));
        interrupt.raise();
        assert_eq!(loading.join().unwrap(), Err(Error::Interrupted));
        drop(gate);
        collecting.join().unwrap().unwrap();
    });
    assert_eq!(load(&store, None).finish(), Ok(1));
}
