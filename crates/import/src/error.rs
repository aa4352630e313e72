//! The errors of an import. Each prints as one line, or as a list with a headline.

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The server that an error came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Source,
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Arguments(String),
    #[error("cannot connect to the {side} {address}: {error}")]
    Connect {
        side: Side,
        address: String,
        error: Box<mysql::Error>,
    },
    /// `statement` is shortened.
    #[error("{}; the statement was: {statement}", said(*side, error))]
    Server {
        side: Side,
        statement: String,
        error: Box<mysql::Error>,
    },
    /// Something that the source lacks, and what to do about it.
    #[error("{0}")]
    Source(String),
    /// What the target cannot take, one line each.
    #[error("{0}")]
    Unsupported(String),
    /// Rows that are not the same on both sides.
    #[error("{0}")]
    Different(String),
    /// The binary log cannot be read or applied.
    #[error("the source's binary log: {0}")]
    Log(String),
    /// A file that cannot be read, or is not what it should be.
    #[error("{0}")]
    Input(String),
    /// A file that cannot be written.
    #[error("cannot write {path}: {error}")]
    Output { path: String, error: std::io::Error },
    /// Rows that the target did not take.
    #[error("{0}")]
    Rejected(String),
    #[error("a thread panicked")]
    Thread,
}

impl Error {
    /// MySQL's number of a server's error; 0 for others.
    pub fn code(&self) -> u16 {
        match self {
            Self::Server { error, .. } | Self::Connect { error, .. } => match &**error {
                mysql::Error::MySqlError(error) => error.code,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether a server does not take the values of a row: other rows of the statement can be taken.
    pub fn is_about_rows(&self) -> bool {
        matches!(
            self.code(),
            1062 // duplicate
                | 1048 // NULL in a column without NULL
                | 1136 // number of values
                | 1261
                ..=1263 // number of fields, NULL
                | 1264 | 1265 | 1292 | 1366 | 1406 | 1411 | 1416 | 1425 | 1690 // out of range, truncated, incorrect
                | 1300 // bytes that are no characters
                | 1451 | 1452 | 1216 | 1217 // foreign keys
                | 1526 | 1748 // no partition
                | 3140 | 3141 | 3143 | 3144 | 3156 | 3157 // JSON
                | 3819 // CHECK
                | 4025 // CHECK, MariaDB
                | 1586 // duplicate, without its value
                | 1022
        )
    }

    /// Whether the connection to the server was lost, or could not be made for now: trying again can help.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Server { error, .. } | Self::Connect { error, .. } => {
                // 1053: shutdown in progress; 1927, 3169: killed; 1040: too many connections;
                // 4031: idle for too long.
                error.is_connectivity_error() || matches!(self.code(), 1040 | 1053 | 1927 | 3169 | 4031)
            }
            _ => false,
        }
    }
}

/// What a server says, or that it says nothing any more.
fn said(side: Side, error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(_) => format!("the {side} says: {error}"),
        mysql::Error::IoError(_) | mysql::Error::CodecError(_) => {
            format!("the connection to the {side} was lost ({error})")
        }
        _ => format!("reading from the {side}: {error}"),
    }
}
