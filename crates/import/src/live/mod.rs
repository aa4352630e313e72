//! `stemdb import --from`: copies databases of a live server at one consistent point, in parallel chunks of
//! the primary key, and checks the copy.
//!
//! - [`state`]: how far the copy is, in tables of the target.
//! - [`definitions`]: databases, tables and views on the target. [`copy`]: the rows, as [`lines`] of one statement or by
//!   [`insert`]. [`check`]: whether both sides are equal.
//! - [`transfer`]: the move, step by step.
//! - [`follow`]: reads the source's binary log until both sides are equal. [`apply`] executes its events on
//!   the target, by [`rows`]. [`statement`] recognises definition statements in it. [`cut_over`]: the end of the move.

mod apply;
mod arguments;
mod check;
mod copy;
mod cut_over;
mod definitions;
mod follow;
mod insert;
mod lines;
mod rows;
pub(crate) mod state;
mod statement;
mod transfer;

pub use arguments::Arguments;
pub(crate) use definitions::{adapted, reason, without_definer};

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::{Common, Result};

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let Some(from) = &arguments.from else {
        return Err(Error::Arguments(
            "nothing to import: name files or a directory, or a server with --from DSN".to_owned(),
        ));
    };
    let source = Endpoint::source(from)?;
    let target = Endpoint::target(&common.to)?;
    transfer::Transfer::new(arguments, common, source, target)?.run()
}
