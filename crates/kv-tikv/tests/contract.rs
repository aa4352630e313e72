//! The whole conformance suite, on a cluster of several stores and regions.
//!
//! `STEMDB_TEST_PD=HOST:PORT` names a real cluster to use instead of the stand-in. Each case uses keys of
//! its own there and leaves them behind. The suite moves the cluster's garbage-collection safe point to the
//! current time. So only one case may run at a time (`--test-threads=1`), and no other client may read old
//! versions. The suite waits until PD has forgotten SQL nodes that were killed.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv_tests::Subject;
use support::{Cluster, Shared};

fn new_subject() -> Box<dyn Subject> {
    match std::env::var("STEMDB_TEST_PD") {
        Ok(pd) => Box::new(Shared::new(&pd)),
        Err(_) => Box::new(Cluster::start()),
    }
}

kv_tests::conformance!(new_subject);
