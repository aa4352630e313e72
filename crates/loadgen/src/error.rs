//! The errors before, during and after a workload's run. Each prints as one line.

use std::io;
use std::path::PathBuf;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Arguments(String),
    #[error("the server's address: {0}")]
    Url(#[from] mysql::UrlError),
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    /// The connection broke: the server ended, or the connection was killed.
    #[error("lost the connection to the server: {0}")]
    Lost(#[source] io::Error),
    /// The server's error.
    #[error("the server reports: {message} (error {code})")]
    Server { code: u16, message: String },
    /// Bytes from the server that are not a valid reply.
    #[error("not a valid reply of a MySQL server: {0}")]
    Protocol(String),
    /// An error of the `mysql` crate.
    #[error("the driver reports: {0}")]
    Driver(Box<mysql::Error>),
    /// A row that the workload has written, or that must exist, was not found.
    #[error("{operation}: no row for key {key}")]
    Missing { operation: &'static str, key: String },
    /// A value of another kind than the workload wrote.
    #[error("{0}")]
    Unexpected(String),
    #[error("a worker panicked")]
    Worker,
    #[error("no operation succeeded; the first error was: {0}")]
    NothingWorked(String),
    /// The run ended early. What was measured until then is in the result.
    #[error("the run ended early: {0}")]
    EndedEarly(String),
    #[error("{failed} of {all} checks failed")]
    Checks { failed: usize, all: usize },
    #[error("cannot write the report: {0}")]
    Output(#[source] io::Error),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path}: not a result of `stemdb bench run`: {message}")]
    Format { path: PathBuf, message: String },
}

impl From<mysql::Error> for Error {
    fn from(error: mysql::Error) -> Self {
        match error {
            mysql::Error::MySqlError(error) => Self::Server {
                code: error.code,
                message: error.message,
            },
            mysql::Error::IoError(error) => Self::Lost(error),
            other => Self::Driver(Box::new(other)),
        }
    }
}

/// The error of `wire`'s readers.
impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        Self::Protocol(error.message.to_string())
    }
}

impl Error {
    /// MySQL's number of the error: the server's, or the one that a MySQL client would report (2003, 2013);
    /// 0 for the workload's own errors.
    pub fn code(&self) -> u16 {
        match self {
            Self::Server { code, .. } => *code,
            Self::Connect { .. } => 2003,
            Self::Lost(_) => 2013,
            Self::Protocol(_) | Self::Driver(_) => 2027,
            _ => 0,
        }
    }

    /// Whether the connection can no longer be used.
    pub fn is_lost(&self) -> bool {
        // 1053: shutdown in progress. After 1927, 3169 and 1317 the server closes the connection.
        matches!(
            self,
            Self::Lost(_) | Self::Protocol(_) | Self::Driver(_) | Self::Connect { .. }
        ) || matches!(self.code(), 1053 | 1927 | 3169 | 4031)
    }

    /// Whether the operation would fail every time, so that the run should end.
    pub fn is_fatal(&self) -> bool {
        // Access, no such database, table, column, function or statement, syntax, not supported, wrong
        // argument.
        matches!(
            self.code(),
            1044 | 1045 | 1046 | 1049 | 1051 | 1054 | 1064 | 1142 | 1143 | 1146 | 1235 | 1243 | 1305 | 1210
        )
    }
}
