//! The whole suite on the memory engine.

// clippy does not count these helpers as tests.
#![allow(clippy::unwrap_used)]

use kv::memory;
use kv::{EmbeddedOptions, Limits, Store};
use kv_tests::Subject;
use std::sync::Arc;

struct Memory;

impl Subject for Memory {
    fn open(&self, limits: Limits) -> Store {
        Store::new(Arc::new(memory::engine_with(EmbeddedOptions {
            limits,
            background: false,
            check_promises: true,
            ..EmbeddedOptions::default()
        })))
    }

    fn is_persistent(&self) -> bool {
        false
    }
}

fn new_subject() -> Box<dyn Subject> {
    Box::new(Memory)
}

kv_tests::conformance!(new_subject);
