//! EXPLAIN.

use planner::command::Explained;
use planner::plan::Plan;
use runner::joins_transaction;
use types::{Error, Result};

use crate::listing::Listing;
use crate::session::Session;

pub fn explain(session: &mut Session, explained: &Explained) -> Result<Listing> {
    let listing = listing(session, explained)?;
    let looks_at_tables = match &explained.plan {
        Plan::Query(query) => joins_transaction(query),
        _ => true,
    };
    if looks_at_tables {
        session.join_transaction(false)?;
    }
    Ok(listing)
}

/// The plan, without a transaction.
///
/// # Errors
/// 1142 without the privileges for the tables; 1235 for what is not there.
pub fn listing(session: &Session, explained: &Explained) -> Result<Listing> {
    session.client.check_privileges(&explained.accesses)?;
    if explained.analyze {
        return Err(Error::not_supported("EXPLAIN ANALYZE", "use EXPLAIN"));
    }
    let (columns, rows) = planner::explain::explain(explained, &|table| session.row_estimate(table))?;
    Ok(Listing { columns, rows })
}
