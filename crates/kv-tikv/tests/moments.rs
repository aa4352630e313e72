//! Snapshots near the current time of PD's clock.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv::{Error, PER_MILLISECOND};
use support::StandIn;

#[test]
fn a_moment_that_pds_clock_is_about_to_reach_is_waited_for() {
    let stand_in = StandIn::start(&[]);
    let store = stand_in.open();
    let soon = store.current_ts().unwrap() + 100 * PER_MILLISECOND;
    assert_eq!(store.snapshot(soon).unwrap().ts(), soon);
    assert!(store.current_ts().unwrap() > soon);
    let late = store.current_ts().unwrap() + 60_000 * PER_MILLISECOND;
    assert_eq!(
        store.snapshot(late).map(|_| ()),
        Err(Error::SnapshotInFuture { ts: late })
    );
}
