//! The server as clients see it: logins, packets, and what happens to connections. Sessions are a small fake
//! ([`support`]); most clients are the Rust `mysql` crate.

mod lifecycle;
mod login;
mod packets;
mod raw;
mod status;
mod support;
