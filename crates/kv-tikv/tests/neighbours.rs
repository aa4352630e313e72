//! Other clients of the same cluster: the locks they leave behind when they die within kinds of commits
//! that we never use, and which client moves the safe point.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use kv::{Error, Reader, Store};
use kv_tests::support::{get, keys, write};
use kv_tikv::TikvOptions;
use std::thread;
use std::time::{Duration, Instant};
use support::{StandIn, leave_locks};

/// A client dies in the middle of an asynchronous commit of these keys (the first is the primary), and its
/// locks have expired.
fn die(stand_in: &StandIn, of: &[&str], how: &str) {
    let hex = |key: &&str| -> String { key.bytes().map(|byte| format!("{byte:02x}")).collect() };
    let hexkeys: Vec<String> = of.iter().map(hex).collect();
    stand_in.control(&format!("/die-async?hexkeys={}{how}", hexkeys.join(",")));
    stand_in.control("/advance?ms=10000");
}

fn has_no_locks(stand_in: &StandIn) {
    let status = stand_in.control("/status");
    assert!(status.contains("\"locks\": 0"), "{}", stand_in.control("/locks"));
}

fn wait_for_no_locks(stand_in: &StandIn) {
    let deadline = Instant::now() + PATIENCE;
    while !stand_in.control("/status").contains("\"locks\": 0") {
        assert!(Instant::now() < deadline, "{}", stand_in.control("/locks"));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_asynchronous_commit_is_what_all_its_locks_say() {
    let stand_in = StandIn::start(&["-stores", "2", "-split", "m"]);
    let store = stand_in.open();
    let read = |key| get(&store.latest(), key);
    // All keys are prewritten: no record says so, but the transaction is committed. Readers meet the
    // primary, and another key.
    die(&stand_in, &["a", "c", "x"], "");
    assert_eq!(read("x").as_deref(), Some("x"));
    assert_eq!(read("a").as_deref(), Some("a"));
    die(&stand_in, &["b", "y"], "");
    assert_eq!(read("b").as_deref(), Some("b"));
    has_no_locks(&stand_in);
    // One key was not prewritten.
    die(&stand_in, &["d", "e", "z"], "&absent=7a");
    assert_eq!(read("d"), None);
    assert_eq!(read("e"), None);
    has_no_locks(&stand_in);
    // It had fallen back to two phases, and had not committed.
    die(&stand_in, &["f", "zz"], "&sync=7a7a");
    assert_eq!(read("zz"), None);
    assert_eq!(read("f"), None);
    has_no_locks(&stand_in);
    // A write finds the same outcome as a read.
    die(&stand_in, &["g", "zzz"], "");
    write(&store, &[("zzz", Some("later"))]);
    assert_eq!(read("g").as_deref(), Some("g"));
    assert_eq!(read("zzz").as_deref(), Some("later"));
    has_no_locks(&stand_in);
}

#[test]
fn a_snapshot_sees_an_asynchronous_commit_that_was_before_it() {
    let stand_in = StandIn::start(&["-stores", "2", "-split", "m"]);
    let store = stand_in.open();
    write(&store, &[("a", Some("0")), ("x", Some("0"))]);
    let before = store.snapshot_now().unwrap();
    assert_eq!(get(&before, "x").as_deref(), Some("0"));
    // The lock of the other key is removed after the commit has been answered.
    wait_for_no_locks(&stand_in);
    die(&stand_in, &["a", "x"], "");
    let after = store.snapshot_now().unwrap();
    assert_eq!(get(&after, "x").as_deref(), Some("x"));
    assert_eq!(get(&before, "a").as_deref(), Some("0"));
    assert_eq!(get(&before, "x").as_deref(), Some("0"));
    assert_eq!(get(&after, "a").as_deref(), Some("a"));
}

#[test]
fn one_that_lives_is_waited_for() {
    let stand_in = StandIn::start(&["-stores", "1"]);
    let (impatient, patient) = (stand_in.impatient(Duration::from_millis(500)), stand_in.open());
    stand_in.control("/die-async?hexkeys=61,78");
    let read = impatient.latest().get(b"x");
    assert!(read.is_err(), "{read:?}");
    stand_in.control("/advance?ms=10000");
    assert_eq!(get(&patient.latest(), "x").as_deref(), Some("x"));
}

fn open(stand_in: &StandIn, keyspace: &str, operation_timeout: Duration) -> Store {
    kv_tikv::open(TikvOptions {
        keyspace: Some(keyspace.into()),
        operation_timeout,
        ..stand_in.options()
    })
    .unwrap()
}

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn foreign_locks_do_not_block_garbage_collection() {
    let stand_in = StandIn::start(&["-stores", "1", "-keyspaces", "shop,blog"]);
    die(&stand_in, &["x\0\0\u{1}a", "x\0\0\u{1}x"], "");
    die(&stand_in, &["x\0\0\u{1}b", "x\0\0\u{1}y"], "&absent=7800000179");
    let blog = open(&stand_in, "blog", PATIENCE);
    blog.set_gc_age(Duration::ZERO);
    let collected = blog.run_gc().unwrap().safe_point;
    has_no_locks(&stand_in);
    assert!(collected > 0);
    let shop = open(&stand_in, "shop", PATIENCE);
    assert_eq!(get(&shop.latest(), "x").as_deref(), Some("x\0\0\u{1}x"));
    assert_eq!(get(&shop.latest(), "b"), None);
}

/// TiDB does not find its own transactions through PD.
#[test]
fn where_a_tidb_lives_the_safe_point_is_its_own() {
    let stand_in = StandIn::start(&["-stores", "1", "-keyspaces", "shop,blog"]);
    stand_in.control("/tidb?keyspace=blog");
    let dead = open(&stand_in, "shop", Duration::from_secs(1));
    write(&dead, &[("a", Some("0")), ("x", Some("0"))]);
    dead.split_at(&keys(&["m"]), PATIENCE, None).unwrap();
    leave_locks(&stand_in, dead, &["a", "x"]);
    // TiDB's locks, which its collector resolves.
    die(&stand_in, &["x\0\0\u{2}a"], "");
    stand_in.control("/advance?ms=600000");
    let shop = open(&stand_in, "shop", PATIENCE);
    shop.set_gc_age(Duration::ZERO);
    shop.run_gc().unwrap();
    assert_eq!(stand_in.count("UpdateGCSafePoint"), 0);
    let locks = stand_in.control("/status");
    assert!(locks.contains("\"locks\": 1"), "{}", stand_in.control("/locks"));
    assert_eq!(get(&shop.latest(), "a").as_deref(), Some("0"));
    // Once TiDB is gone, we have to collect.
    stand_in.control("/tidb?keyspace=blog&gone=1");
    shop.run_gc().unwrap();
    assert_eq!(stand_in.count("UpdateGCSafePoint"), 1);
    has_no_locks(&stand_in);
}

#[test]
fn keys_that_are_a_tidbs_are_left_alone() {
    let refused = |opened: kv::Result<Store>| match opened {
        Err(Error::Unavailable(why)) => assert!(why.contains("a keyspace of its own"), "{why}"),
        other => panic!("{:?}", other.map(drop)),
    };
    let stand_in = StandIn::start(&["-stores", "1", "-keyspaces", "shop,blog"]);
    let in_keyspace = |name: &str| {
        kv_tikv::open(TikvOptions {
            keyspace: Some(name.into()),
            ..stand_in.options()
        })
    };
    stand_in.control("/tidb");
    refused(kv_tikv::open(stand_in.options()));
    stand_in.control("/tidb?keyspace=blog");
    refused(in_keyspace("blog"));
    in_keyspace("shop").unwrap();
    stand_in.control("/tidb?gone=1");
    kv_tikv::open(stand_in.options()).unwrap();
}
