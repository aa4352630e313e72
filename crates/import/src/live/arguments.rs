//! The command line of a move.

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server to copy from, and the databases: `mysql://USER:PASSWORD@HOST:PORT/DB,DB`
    #[arg(long, value_name = "DSN")]
    pub(super) from: Option<String>,
    /// The server to copy to.
    #[arg(long, value_name = "DSN", default_value = "mysql://root@127.0.0.1:4000")]
    pub(super) to: String,
    /// Connections that read, and as many that write.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(super) threads: u16,
    /// Copies the rest if there are triggers, routines, events, tables or indexes that the target does not
    /// take. Without it they are listed, and nothing is copied.
    #[arg(long)]
    pub(super) skip_unsupported: bool,
    /// After the copy, applies the source's binary log until it is stopped. A later run goes on from there.
    #[arg(long)]
    pub(super) follow: bool,
    /// Applies the binary log up to its end, makes the source read-only, and compares both sides.
    #[arg(long)]
    pub(super) cut_over: bool,
    /// A statement of the binary log that is not applied, by its place, as the error about it says: FILE:OFFSET
    #[arg(long, value_name = "FILE:OFFSET")]
    pub(super) skip: Vec<String>,
    /// Forgets what earlier runs have copied, drops their tables, and begins anew.
    #[arg(long)]
    pub(super) restart: bool,
}
