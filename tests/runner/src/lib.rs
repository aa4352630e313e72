//! Black-box tests: everything here talks to a running server as any client does, and knows nothing of its insides.
//!
//! - [`sql`]: the corpus of scripts with the answers of real MySQL 8.0.
//! - [`concurrency`]: what holds while many write.
//! - [`crash`]: what holds after `kill -9`.
//! - [`server`]: starts, kills and finds servers; [`report`] counts what passed.

pub mod concurrency;
pub mod crash;
pub mod literal;
pub mod report;
pub mod server;
pub mod sql;
