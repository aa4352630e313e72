//! What a real application sends to its server, tried here: `stemdb replay` runs the statements of a log and
//! measures and compares them, `stemdb check-compat` reads a dump or a log and lists what will not work.
//!
//! - [`log`]: the statements of a general log or a slow log, with their connections and times.
//! - [`play`]: sends them. [`tally`]: counts what came of it. [`report`]: prints it.
//! - [`compat`]: parses statements without running them.

mod compat;
mod error;
mod log;
mod play;
mod report;
mod tally;

pub use compat::{CheckCompatArguments, check_compat};
pub use error::{Error, Result};
pub use play::{ReplayArguments, replay};
