//! `stemdb bench` as a whole, against servers that are not there, are none, or go away: one clear line, what was
//! measured kept, and no success.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by panicking")]

mod bad_input;
mod fake_server;
