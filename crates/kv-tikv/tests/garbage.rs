//! Garbage collection by several nodes, with current and older versions of PD.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use kv::{Error, Reader, Store};
use kv_tests::support::{get, wait_until, write};
use kv_tikv::TikvOptions;
use std::time::Duration;
use support::{StandIn, leave_locks};

fn on_both(test: impl Fn(&StandIn)) {
    test(&StandIn::start(&["-split", "c,f"]));
    test(&StandIn::start(&["-split", "c,f", "-old-pd"]));
}

/// A node that collects only on request.
fn open(stand_in: &StandIn, age: Duration) -> Store {
    kv_tikv::open(TikvOptions {
        background: true,
        gc_age: age,
        gc_interval: Duration::from_secs(3_600),
        gc_hold_max: Duration::from_secs(3 * 3_600),
        ..stand_in.options()
    })
    .unwrap()
}

const NO_AGE: Duration = Duration::ZERO;
const TEN_MINUTES: Duration = Duration::from_secs(600);

#[test]
fn it_happens_by_itself() {
    on_both(|stand_in| {
        let store = kv_tikv::open(TikvOptions {
            background: true,
            gc_age: NO_AGE,
            gc_interval: Duration::from_millis(100),
            ..stand_in.options()
        })
        .unwrap();
        let ts = write(&store, &[("a", Some("1"))]);
        wait_until("it is collected", || store.safe_point() > ts);
        let ts = write(&store, &[("a", Some("2"))]);
        wait_until("it is collected again", || store.safe_point() > ts);
        assert_eq!(get(&store.latest(), "a").as_deref(), Some("2"));
    });
}

#[test]
fn another_nodes_snapshots_hold_it_back() {
    on_both(|stand_in| {
        let reader = open(stand_in, NO_AGE);
        write(&reader, &[("a", Some("1"))]);
        let snapshot = reader.snapshot_now().unwrap();
        reader.run_gc().unwrap();
        let collector = open(stand_in, NO_AGE);
        write(&collector, &[("a", Some("2"))]);
        collector.run_gc().unwrap();
        assert!(collector.safe_point() <= snapshot.ts());
        assert_eq!(get(&snapshot, "a").as_deref(), Some("1"));
        drop(snapshot);
        drop(reader);
        collector.run_gc().unwrap();
        assert!(collector.safe_point() > collector.current_ts().unwrap() - 10_000 * kv::PER_MILLISECOND);
    });
}

#[test]
fn it_is_not_held_back_for_ever() {
    on_both(|stand_in| {
        let (reader, collector) = (open(stand_in, NO_AGE), open(stand_in, NO_AGE));
        write(&reader, &[("a", Some("1"))]);
        let old = reader.snapshot_now().unwrap();
        write(&collector, &[("a", Some("2"))]);
        collector.run_gc().unwrap();
        assert_eq!(get(&old, "a").as_deref(), Some("1"));
        stand_in.control(&format!("/advance?ms={}", 4 * 3_600_000));
        let new = reader.snapshot_now().unwrap();
        collector.run_gc().unwrap();
        assert!(collector.safe_point() <= old.ts(), "its node has not given it up");
        // The next report of the reader's node no longer includes it; the collector alone would preserve
        // three hours at most.
        reader.run_gc().unwrap();
        collector.run_gc().unwrap();
        assert!(collector.safe_point() > old.ts());
        refused(&old);
        assert_eq!(get(&new, "a").as_deref(), Some("2"));
        assert_eq!(get(&reader.latest(), "a").as_deref(), Some("2"));
    });
}

fn refused(snapshot: &impl Reader) {
    let read = snapshot.get(b"a");
    assert!(matches!(read, Err(Error::SnapshotTooOld { .. })), "{read:?}");
}

#[test]
fn a_node_with_a_longer_gc_age_can_join() {
    on_both(|stand_in| {
        let eager = open(stand_in, NO_AGE);
        let old = write(&eager, &[("a", Some("1"))]);
        write(&eager, &[("a", Some("2"))]);
        eager.run_gc().unwrap();
        let collected = eager.safe_point();
        assert!(collected > old);
        // PD would not let the safe point go back to ten minutes ago.
        let patient = open(stand_in, TEN_MINUTES);
        patient.run_gc().unwrap();
        assert!(patient.safe_point() >= collected);
        assert!(matches!(patient.snapshot(old), Err(Error::SnapshotTooOld { .. })));
        let snapshot = patient.snapshot_now().unwrap();
        write(&eager, &[("a", Some("3"))]);
        patient.run_gc().unwrap();
        eager.run_gc().unwrap();
        assert_eq!(get(&snapshot, "a").as_deref(), Some("2"));
    });
}

#[test]
fn what_was_collected_while_a_node_was_not_believed_is_not_read() {
    on_both(|stand_in| {
        let quick = || TikvOptions {
            background: true,
            gc_age: NO_AGE,
            // A report is valid for one second, and this node renews it only on request.
            gc_interval: Duration::from_millis(200),
            ..stand_in.options()
        };
        let forgotten = kv_tikv::open(TikvOptions {
            background: false,
            ..quick()
        })
        .unwrap();
        write(&forgotten, &[("a", Some("1"))]);
        let old = forgotten.snapshot_now().unwrap();
        forgotten.run_gc().unwrap();
        let collector = open(stand_in, NO_AGE);
        write(&collector, &[("a", Some("2"))]);
        wait_until("PD forgets the other node", || {
            collector.run_gc().unwrap().safe_point > old.ts()
        });
        forgotten.run_gc().unwrap();
        refused(&old);
        assert_eq!(get(&forgotten.latest(), "a").as_deref(), Some("2"));
    });
}

/// The node's region cache is stale. Locks below the safe point can no longer be resolved.
#[test]
fn no_lock_is_left_behind_in_a_region_that_has_split() {
    let stand_in = StandIn::start(&["-stores", "1"]);
    let store = open(&stand_in, NO_AGE);
    write(&store, &[("a", Some("0")), ("x", Some("0"))]);
    stand_in.control("/split?key=m");
    let dead = stand_in.impatient(Duration::from_secs(1));
    leave_locks(&stand_in, dead, &["a", "x"]);
    stand_in.control("/advance?ms=600000");
    store.run_gc().unwrap();
    let status = stand_in.control("/status");
    assert!(status.contains("\"locks\": 0"), "{}", stand_in.control("/locks"));
    assert_eq!(get(&store.latest(), "x").as_deref(), Some("0"));
}
