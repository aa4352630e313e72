//! EXPLAIN.

use optimizer::{Planned, PlannedStatement};
use planner::command::Explained;
use planner::plan::Plan;
use runner::joins_transaction;
use types::{Error, Result};

use crate::listing::Listing;
use crate::session::Session;

pub fn explain(session: &mut Session, explained: &Explained) -> Result<Listing> {
    let planned = planned(session, explained)?;
    let listing = listing_of(session, explained, &planned)?;
    let looks_at_tables = match &planned.plan {
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
    listing_of(session, explained, &planned(session, explained)?)
}

fn planned(session: &Session, explained: &Explained) -> Result<PlannedStatement> {
    match session.optimized(explained.bound.clone(), false)? {
        Planned::Plan(planned) => Ok(planned),
        _ => Err(Error::internal("EXPLAIN of what is no plan")),
    }
}

fn listing_of(session: &Session, explained: &Explained, planned: &PlannedStatement) -> Result<Listing> {
    session.client.check_privileges(&planned.accesses)?;
    if explained.analyze {
        return Err(Error::not_supported("EXPLAIN ANALYZE", "use EXPLAIN"));
    }
    let (columns, rows) = optimizer::explain::explain(planned, explained.format)?;
    Ok(Listing { columns, rows })
}
