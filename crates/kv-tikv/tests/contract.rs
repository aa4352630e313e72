//! The whole conformance suite, on a cluster of several stores and regions.
//!
//! `STEMDB_TEST_PD=HOST:PORT` names a real cluster to be used in place of the stand-in: each case has keys of its own
//! there, which it leaves. It moves the cluster's garbage-collection safe point to now, so that only one case may run at a
//! time (`--test-threads=1`), and nobody else may need the past. It waits for SQL nodes that were killed to be forgotten.

// Helpers of tests, which clippy does not know to be tests.
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
