//! The whole conformance suite, on a cluster of several stores and regions.

// Helpers of tests, which clippy does not know to be tests.
#![allow(clippy::unwrap_used)]

mod support;

use kv_tests::Subject;
use support::Cluster;

fn new_subject() -> Box<dyn Subject> {
    Box::new(Cluster::start())
}

kv_tests::conformance!(new_subject);
