//! The command line of a move from a live server.

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server to copy from, and the databases: `mysql://USER:PASSWORD@HOST:PORT/DB,DB`
    #[arg(long, value_name = "DSN", conflicts_with = "inputs")]
    pub(super) from: Option<String>,
    /// After the copy, applies the source's binary log until it is stopped. A later run continues from there.
    #[arg(long, requires = "from")]
    pub(super) follow: bool,
    /// Applies the binary log up to its end, makes the source read-only, and compares both sides.
    #[arg(long, requires = "from")]
    pub(super) cut_over: bool,
    /// Copies nothing: the target has what the source had after these transactions (`gtid_executed`, or
    /// MariaDB's `gtid_binlog_pos`), from a dump, or from a server that the source has replaced. Their log is
    /// followed from there.
    #[arg(long, value_name = "SET", requires = "from")]
    pub(super) gtid: Option<String>,
    /// A statement of the binary log that is not applied, by its place, as the error about it says:
    /// FILE:OFFSET
    #[arg(long, value_name = "FILE:OFFSET", requires = "from")]
    pub(super) skip: Vec<String>,
}
