//! What can go wrong before and while a workload runs.

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Arguments(&'static str),
    #[error("the server's address: {0}")]
    Url(#[from] mysql::UrlError),
    #[error("{0}")]
    Server(#[from] mysql::Error),
    /// A row the workload had written, or that must exist, is not there.
    #[error("{operation}: no row for key {key}")]
    Missing { operation: &'static str, key: String },
    #[error("a worker panicked")]
    Worker,
    #[error("no operation succeeded; the first error was: {0}")]
    NothingWorked(String),
    #[error("cannot write the report: {0}")]
    Output(std::io::Error),
}
