//! Splitting regions on request, and describing them.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, Interrupt, KeyRange, Region, SplitReport, Store};
use kv_tests::support::{get, keys, scan_all, write};
use std::collections::HashSet;
use std::time::Duration;
use support::StandIn;

const PATIENCE: Duration = Duration::from_secs(20);

fn starts(regions: &[Region]) -> Vec<String> {
    let start = |region: &Region| String::from_utf8_lossy(&region.start).into_owned();
    regions.iter().map(start).collect()
}

fn all(store: &Store) -> Vec<Region> {
    store.regions(&KeyRange::all(), None).unwrap()
}

#[test]
fn new_regions_are_spread_over_the_stores() {
    let stand_in = StandIn::start(&["-stores", "3"]);
    let store = stand_in.open();
    write(&store, &[("a", Some("1")), ("c", Some("1")), ("g", Some("1"))]);
    let report = store.split_at(&keys(&["f", "b", "d", "b"]), PATIENCE, None);
    let all_of = |split| SplitReport {
        split,
        scattered: split,
    };
    assert_eq!(report, Ok(all_of(3)));
    let regions = all(&store);
    assert_eq!(starts(&regions), ["", "b", "d", "f"]);
    assert!(
        regions
            .iter()
            .all(|region| region.replicas.len() == 3 && !region.is_moving)
    );
    let stores: HashSet<u64> = regions.iter().map(|region| region.leader_store).collect();
    assert!(stores.len() > 1, "{regions:?}");
    assert_eq!(
        (stand_in.count("SplitRegion"), stand_in.count("ScatterRegion")),
        (1, 3)
    );
    // Existing boundaries are not split again. The new ones lie in several regions.
    let report = store.split_at(&keys(&["b", "c", "d", "e"]), PATIENCE, None);
    assert_eq!(report, Ok(all_of(2)));
    assert_eq!(starts(&all(&store)), ["", "b", "c", "d", "e", "f"]);
    let some = store.regions(&KeyRange::new("bb", "dd"), None).unwrap();
    assert_eq!(starts(&some), ["b", "c", "d"]);
    assert_eq!(some[2].end, b"e");
    assert_eq!(scan_all(&store.latest()), ["a=1", "c=1", "g=1"]);
}

#[test]
fn a_split_finds_its_region_again() {
    let stand_in = StandIn::start(&["-stores", "3"]);
    let store = stand_in.open();
    write(&store, &[("a", Some("1"))]);
    // This node's region cache is stale.
    stand_in.control("/split?key=m");
    stand_in.control("/leader?key=a&store=2");
    stand_in.control("/leader?key=z&store=3");
    store.split_at(&keys(&["d", "x"]), PATIENCE, None).unwrap();
    assert_eq!(starts(&all(&store)), ["", "d", "m", "x"]);
    for error in [
        "not-leader",
        "epoch-not-match",
        "server-is-busy",
        "region-not-found",
    ] {
        stand_in.control(&format!("/region-error-next?rpc=SplitRegion&error={error}"));
        let report = store.split_at(&keys(&[error]), PATIENCE, None).unwrap();
        assert_eq!(report.split, 1, "{error}");
    }
    // The split happened, but its response was lost. The leader is known here, so what gets lost is not a
    // refusal.
    get(&store.latest(), "q");
    stand_in.control("/drop-next?rpc=SplitRegion");
    let report = store.split_at(&keys(&["q"]), PATIENCE, None).unwrap();
    assert_eq!(report.split, 0);
    assert!(starts(&all(&store)).contains(&"q".to_owned()));
    stand_in.control("/stop?store=2");
    store.split_at(&keys(&["b", "y"]), PATIENCE, None).unwrap();
    let starts = starts(&all(&store));
    assert!(
        ["b", "y"].iter().all(|key| starts.contains(&(*key).to_owned())),
        "{starts:?}"
    );
}

#[test]
fn a_killed_statement_stops_splitting() {
    let stand_in = StandIn::start(&["-stores", "1"]);
    let store = stand_in.open();
    let interrupt = Interrupt::new();
    interrupt.raise();
    let refused = store.split_at(&keys(&["d"]), PATIENCE, Some(&interrupt));
    assert_eq!(refused, Err(Error::Interrupted));
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn a_killed_statement_does_not_wait_for_pd() {
    let stand_in = StandIn::start(&["-stores", "1"]);
    let store = stand_in.open();
    write(&store, &[("a", Some("1"))]);
    let interrupt = Interrupt::new();
    interrupt.raise();
    stand_in.control("/pd/slow?ms=60000");
    let all = KeyRange::all();
    assert_eq!(store.regions(&all, Some(&interrupt)), Err(Error::Interrupted));
    let latest = store.latest().interruptible(interrupt);
    assert_eq!(latest.approximate_bytes(&all), Err(Error::Interrupted));
    assert_eq!(latest.split_range(&all, 4), Err(Error::Interrupted));
}

#[test]
fn a_keyspace_shows_its_own_keys() {
    let stand_in = StandIn::start(&["-stores", "1", "-keyspaces", "shop"]);
    let store = kv_tikv::open(kv_tikv::TikvOptions {
        keyspace: Some("shop".into()),
        ..stand_in.options()
    })
    .unwrap();
    write(&store, &[("a", Some("1"))]);
    let report = store.split_at(&keys(&["b", "d"]), PATIENCE, None).unwrap();
    assert_eq!(report.split, 2);
    let regions = all(&store);
    assert_eq!(starts(&regions), ["", "b", "d"]);
    assert_eq!(regions[2].end, b"", "it ends outside");
}
