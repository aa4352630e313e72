//! `stemdb bench` as a whole, against ports without a server, servers that are not MySQL, and servers that
//! end. It prints one clear line, preserves what was measured, and reports failure.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by panicking")]

mod bad_input;
mod fake_server;
