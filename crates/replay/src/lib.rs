//! Tests with the statements of a real application: `stemdb replay` runs the statements of a log and measures
//! and compares them, `stemdb check-compat` reads a dump or a log and lists what will not work.
//!
//! Not here: the client and its latencies (`loadgen`), the grammar (`syntax`), and moving data (`import`).
//!
//! - [`log`]: the statements of a general log or a slow log, with their connections and times.
//! - [`play`]: sends them. [`tally`]: counts the results. [`report`]: prints it.
//! - [`compat`]: parses statements, and tries them on an empty server of its own.
//!
//! Where to go next: [`play`], which has the whole of a replay.

mod compat;
mod error;
mod log;
mod play;
mod report;
mod tally;

/// Reads all of a log, or of a dump, as `stemdb replay` and `stemdb check-compat` do: how many statements it
/// has.
///
/// # Errors
/// Those of the input.
pub fn count_statements(input: &[u8]) -> std::io::Result<(usize, usize)> {
    let mut log = 0;
    for entry in log::Log::new(input) {
        if let log::Action::Statement(sql) = entry?.action {
            drop((tally::digest(&sql), tally::kind(&sql)));
            log += 1;
        }
    }
    let dump = compat::count_statements(input)?;
    Ok((log, dump))
}

pub use compat::{CheckCompatArguments, check_compat};
pub use error::{Error, Result};
pub use play::{ReplayArguments, replay};
