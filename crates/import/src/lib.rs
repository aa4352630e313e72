//! `stemdb import` and `stemdb export`: move the data of an application to StemDB, and out of it.
//!
//! Both are clients, and do not depend on the server's internals: any server that speaks MySQL's protocol can
//! be source and target.
//!
//! Not here: running a server's statements again and comparing the answers of two servers (`replay`). `docs/moving.md`
//! describes a whole move. Where to go next: `live::transfer` for a copy from a live server, `files::load` for files.
//!
//! - [`live`]: copies databases from a live MySQL or MariaDB (`--from`), and follows its binary log.
//! - [`binlog`]: reads binary logs.
//! - [`files`]: loads dumps, CSV and Parquet files.
//! - [`mod@export`]: writes them.
//! - [`script`]: takes SQL scripts apart.
//!
//! Shared by these: [`endpoint`], connections to both servers; [`inventory`], what a server has;
//! [`snapshot`], many connections that see the same point; [`chunk`], ranges of a primary key;
//! [`foreign_keys`], whether references have their parent rows; [`whole`], many rows as one statement; [`retry`], what is
//! tried again.

pub mod binlog;
mod chunk;
mod endpoint;
mod error;
pub mod export;
pub mod files;
mod foreign_keys;
mod inventory;
pub mod live;
mod retry;
pub mod script;
mod snapshot;
#[cfg(test)]
mod test_support;
mod whole;

pub use error::{Error, Result};
pub use export::{Arguments as ExportArguments, run as export};

/// The command line of `stemdb import`.
#[derive(Debug, clap::Args)]
pub struct ImportArguments {
    #[command(flatten)]
    files: files::Arguments,
    #[command(flatten)]
    live: live::Arguments,
    #[command(flatten)]
    common: Common,
}

/// What every import has.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The server to copy to. Its database, if it has one, is that of a dump that names none, and of files.
    #[arg(long, value_name = "DSN", default_value = "mysql://root@127.0.0.1:4000")]
    to: String,
    /// Connections that write (with --from, as many that read).
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Copies the rest if there are triggers, routines, events, tables or indexes that the target does not
    /// take. Without it they are listed, and nothing is copied; a dump is loaded up to the first of them.
    #[arg(long)]
    skip_unsupported: bool,
    /// Forgets what an earlier run that was interrupted has copied, and begins again. With --from it drops
    /// the tables of that run; of files it forgets only how far they were loaded.
    #[arg(long)]
    restart: bool,
}

/// Runs `stemdb import`.
pub fn import(arguments: &ImportArguments) -> Result<()> {
    match arguments.files.is_given() {
        true => files::run(&arguments.files, &arguments.common),
        false => live::run(&arguments.live, &arguments.common),
    }
}
