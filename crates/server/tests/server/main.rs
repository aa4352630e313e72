//! The server as clients see it: logins, packets, and connections over time. Sessions are a small fake
//! ([`support`]). Most clients are the Rust `mysql` crate.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail a test by panicking")]

mod lifecycle;
mod login;
mod packets;
mod pending_reply;
mod raw;
mod sha256;
mod status;
mod support;
