//! `stemdb import --from`: copies databases of a live server at one consistent point, in parallel chunks of
//! the primary key, and checks the copy.
//!
//! - [`endpoint`]: connections to both servers. [`inventory`]: what the source has. [`snapshot`]: many
//!   connections that see the same point.
//! - [`chunk`]: ranges of a primary key. [`state`]: how far the copy is, in tables of the target.
//! - [`definitions`]: databases, tables and views on the target. [`copy`]: the rows. [`check`]: whether both
//!   sides are equal; [`foreign_keys`]: whether references have what they refer to.

mod endpoint;

use crate::Result;
use crate::error::Error;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The server to copy from, and the databases: mysql://USER[:PASSWORD]@HOST[:PORT]/DB[,DB]
    #[arg(long, value_name = "DSN")]
    from: Option<String>,
    /// The server to copy to.
    #[arg(long, value_name = "DSN", default_value = "mysql://root@127.0.0.1:4000")]
    to: String,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let Some(from) = &arguments.from else {
        return Err(Error::Arguments("nothing to import: give --from DSN".to_owned()));
    };
    let _ = (endpoint::Endpoint::source(from)?, endpoint::Endpoint::target(&arguments.to)?);
    Ok(())
}
