//! Several databases in one cluster (API version 2): the contract holds in each, and none sees the others.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, KeyRange};
use kv_tests::support::{scan, scan_all, write};
use support::StandIn;

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
