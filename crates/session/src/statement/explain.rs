//! EXPLAIN.

use planner::command::Explained;
use types::{Error, Result};

use crate::listing::Listing;
use crate::session::Session;

pub fn explain(session: &Session, explained: &Explained) -> Result<Listing> {
    session.client.check_privileges(&explained.accesses)?;
    if explained.analyze {
        return Err(Error::not_supported("EXPLAIN ANALYZE", "use EXPLAIN"));
    }
    let (columns, rows) = planner::explain::explain(explained, &|table| session.row_estimate(table))?;
    Ok(Listing { columns, rows })
}
