//! Black-box tests: everything here talks to a running server as any client does, and knows nothing of its insides.
//!
//! - [`sql`]: the corpus of scripts with the answers of real MySQL 8.0.

pub mod literal;
pub mod report;
pub mod sql;
