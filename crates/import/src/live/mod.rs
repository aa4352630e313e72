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
mod arguments;
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
pub use arguments::Arguments;
use endpoint::Endpoint;

pub fn run(arguments: &Arguments) -> Result<()> {
    let Some(from) = &arguments.from else {
        return Err(Error::Arguments("nothing to import: give --from DSN".to_owned()));
    };
    let source = Endpoint::source(from)?;
    let target = Endpoint::target(&arguments.to)?;
    transfer::Transfer::new(arguments, source, target)?.run()
}
