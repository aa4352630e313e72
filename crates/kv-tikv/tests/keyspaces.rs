//! Several keyspaces in one cluster (API version 2): the contract holds in each, and none sees another's
//! data.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, KeyRange};
use kv_tests::support::{keys, scan, scan_all, write};
use kv_tikv::TikvOptions;
use std::time::Duration;
use support::{StandIn, leave_locks};

#[test]
fn databases_do_not_mix() {
    let stand_in = StandIn::start(&["-stores", "2", "-keyspaces", "shop,blog"]);
    let open = |name: &str| {
        kv_tikv::open(kv_tikv::TikvOptions {
            keyspace: Some(name.into()),
            ..stand_in.options()
        })
    };
    let (shop, blog) = (open("shop").unwrap(), open("blog").unwrap());
    write(&shop, &[("", Some("1")), ("a", Some("1")), ("\u{7f}", Some("1"))]);
    write(&blog, &[("a", Some("2"))]);
    assert_eq!(scan_all(&shop.latest()), ["=1", "a=1", "\u{7f}=1"]);
    assert_eq!(
        scan(&shop.latest(), &KeyRange::all(), true),
        ["\u{7f}=1", "a=1", "=1"]
    );
    assert_eq!(scan_all(&blog.latest()), ["a=2"]);
    shop.destroy_range(&KeyRange::all()).unwrap();
    assert!(scan_all(&shop.latest()).is_empty());
    assert_eq!(scan_all(&blog.latest()), ["a=2"]);
    assert!(matches!(open("none"), Err(Error::Unavailable(_))));
}

/// All keyspaces share one safe point, so the node that moves it must also resolve the others' locks.
#[test]
fn locks_of_all_are_resolved_before_garbage_is_collected() {
    let stand_in = StandIn::start(&["-stores", "1", "-keyspaces", "shop,blog"]);
    let open = |name: &str, operation_timeout| {
        kv_tikv::open(TikvOptions {
            keyspace: Some(name.into()),
            operation_timeout,
            ..stand_in.options()
        })
        .unwrap()
    };
    let dead = open("shop", Duration::from_secs(1));
    write(&dead, &[("a", Some("0")), ("x", Some("0"))]);
    dead.split_at(&keys(&["m"]), Duration::from_secs(20), None)
        .unwrap();
    leave_locks(&stand_in, dead, &["a", "x"]);
    stand_in.control("/advance?ms=600000");
    let blog = open("blog", Duration::from_secs(20));
    blog.set_gc_age(Duration::ZERO);
    blog.run_gc().unwrap();
    let status = stand_in.control("/status");
    assert!(status.contains("\"locks\": 0"), "{}", stand_in.control("/locks"));
    let shop = open("shop", Duration::from_secs(20));
    assert_eq!(scan_all(&shop.latest()), ["a=0", "x=0"]);
}
