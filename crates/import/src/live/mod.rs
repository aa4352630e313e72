//! `stemdb import --from`: copies databases of a live server at one consistent point, in parallel chunks of
//! the primary key, and checks the copy.
//!
//! - [`endpoint`]: connections to both servers. [`inventory`]: what the source has. [`snapshot`]: many
//!   connections that see the same point.
//! - [`chunk`]: ranges of a primary key. [`state`]: how far the copy is, in tables of the target.
//! - [`definitions`]: databases, tables and views on the target. [`copy`]: the rows. [`check`]: whether both
//!   sides are equal; [`foreign_keys`]: whether references have what they refer to.
//! - [`transfer`]: the move, step by step.
//! - [`follow`]: reads the source's binary log until both sides are equal; [`apply`] writes what it says,
//!   [`statement`] tells definitions from the rest. [`cut_over`]: the end.

mod apply;
mod check;
mod chunk;
mod copy;
mod cut_over;
mod definitions;
mod endpoint;
mod follow;
mod foreign_keys;
mod inventory;
mod snapshot;
mod state;
mod statement;
mod transfer;

use crate::Result;
use crate::error::Error;
use endpoint::Endpoint;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server to copy from, and the databases: mysql://USER[:PASSWORD]@HOST[:PORT]/DB[,DB]
    #[arg(long, value_name = "DSN")]
    from: Option<String>,
    /// The server to copy to.
    #[arg(long, value_name = "DSN", default_value = "mysql://root@127.0.0.1:4000")]
    to: String,
    /// Connections that read, and as many that write.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Copies the rest if there are triggers, routines, events, tables or indexes that the target does not
    /// take. Without it they are listed, and nothing is copied.
    #[arg(long)]
    skip_unsupported: bool,
    /// After the copy, applies the source's binary log until it is stopped. A later run goes on from there.
    #[arg(long)]
    follow: bool,
    /// Applies the binary log up to its end, makes the source read-only, and compares both sides.
    #[arg(long)]
    cut_over: bool,
    /// A statement of the binary log that is not applied, by its place, as the error about it says: FILE:OFFSET
    #[arg(long, value_name = "FILE:OFFSET")]
    skip: Vec<String>,
    /// Forgets what earlier runs have copied, drops their tables, and begins anew.
    #[arg(long)]
    restart: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Some(from) = &arguments.from else {
        return Err(Error::Arguments("nothing to import: give --from DSN".to_owned()));
    };
    let source = Endpoint::source(from)?;
    let target = Endpoint::target(&arguments.to)?;
    transfer::Transfer::new(arguments, source, target)?.run()
}
