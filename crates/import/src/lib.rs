//! `stemdb import`: moves the data of an application to StemDB.
//!
//! It is a client of the source and of the target, and knows nothing of the server's insides: any server that
//! speaks MySQL's protocol can be either.
//!
//! - [`live`]: copies databases from a live MySQL or MariaDB (`--from`), and follows its binary log.
//! - [`binlog`]: reads binary logs.

pub mod binlog;
mod error;
pub mod live;

pub use error::{Error, Result};

/// The command line of `stemdb import`.
#[derive(Debug, clap::Args)]
pub struct ImportArguments {
    #[command(flatten)]
    live: live::Arguments,
}

/// Runs `stemdb import`.
pub fn import(arguments: &ImportArguments) -> Result<()> {
    live::run(&arguments.live)
}
