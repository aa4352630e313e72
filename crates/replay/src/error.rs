//! The errors of `replay` and `check-compat`. Each prints as one line.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0}: no line of it is of a general log or a slow log of MySQL or MariaDB")]
    NoLog(PathBuf),
    #[error("{0}")]
    Server(#[from] loadgen::Error),
    #[error("{0} statements had other results on the two servers")]
    Different(u64),
    #[error("{0} statements will not work")]
    Incompatible(u64),
    /// The server that check-compat starts for itself.
    #[error("the server on which statements are tried: {0}")]
    Trial(String),
    #[error("a thread panicked")]
    Thread,
}
