//! SHOW: one file per family. Each makes a [`Listing`]; the filter of the statement is applied here, to all alike.

mod definitions;
mod schema;
mod server;

pub use server::process_list;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use catalog::model::INFORMATION_SCHEMA;
use functions::EvalContext;
use planner::command::{Show, ShowFilter};
use types::{Result, Value};

use super::split_table::show_regions;
use crate::listing::Listing;
use crate::session::Session;

/// Answers a SHOW statement.
pub fn show(session: &mut Session, show: &Show, eval: &Arc<EvalContext>) -> Result<Listing> {
    match show {
        Show::Databases(filter) => filtered(session, schema::databases(session, filter), filter, eval),
        Show::Tables {
            database,
            full,
            filter,
        } => {
            let filter = &of_table_names(database, filter);
            filtered(
                session,
                schema::tables(session, database, *full, filter)?,
                filter,
                eval,
            )
        }
        Show::TableStatus { database, filter } => {
            let filter = &of_table_names(database, filter);
            filtered(session, schema::table_status(session, database)?, filter, eval)
        }
        Show::Columns { table, full, filter } => {
            filtered(session, schema::columns(session, table, *full)?, filter, eval)
        }
        Show::Index { table, filter } => filtered(session, schema::index(session, table)?, filter, eval),
        Show::Regions { table, index, filter } => filtered(
            session,
            show_regions(session, table, index.as_deref())?,
            filter,
            eval,
        ),
        Show::CreateTable(table) => definitions::create_table(session, table),
        Show::CreateDatabase { name, if_not_exists } => {
            definitions::create_database(session, name, *if_not_exists)
        }
        Show::Variables { global, filter } => {
            filtered(session, server::variables(session, *global), filter, eval)
        }
        Show::Status { global: _, filter } => filtered(session, server::status(session), filter, eval),
        Show::ProcessList { full } => Ok(server::process_list(session, *full)),
        Show::Warnings {
            errors_only,
            offset,
            count,
        } => Ok(server::warnings(session, *errors_only, *offset, *count)),
        Show::CountWarnings { errors_only } => Ok(server::count_warnings(session, *errors_only)),
        Show::Engines => Ok(server::engines(session.shared.engine.store.engine_name())),
        Show::Collation(filter) => filtered(session, server::collations(), filter, eval),
        Show::Charset(filter) => filtered(session, server::charsets(), filter, eval),
        Show::Plugins(filter) => filtered(session, server::plugins(), filter, eval),
        Show::Grants { user } => server::grants(session, user.as_ref()),
        Show::CreateUser { user } => server::create_user(session, user),
        Show::Empty { what, filter } => filtered(session, server::empty(what), filter, eval),
    }
}

/// Leaves the rows that satisfy LIKE (on the first column) or WHERE (over all of them).
fn filtered(
    session: &Session,
    mut listing: Listing,
    filter: &ShowFilter,
    eval: &Arc<EvalContext>,
) -> Result<Listing> {
    let keep = match filter {
        ShowFilter::None => return Ok(listing),
        ShowFilter::Like(pattern) => {
            // Of names of tables and databases case matters, of others not.
            let collation = listing.columns[0].1.collation;
            let matches = |row: &Vec<Value>| match &row[0] {
                Value::String(name) => functions::like(pattern, name, collation),
                _ => false,
            };
            listing.rows.iter().map(matches).collect::<Vec<bool>>()
        }
        ShowFilter::Where(condition) => {
            let condition = session.bind_show_filter(condition, &listing.columns)?;
            let truth: BooleanArray = functions::eval_predicate(&condition, &listing.batch()?, eval)?;
            (0..truth.len())
                .map(|i| truth.is_valid(i) && truth.value(i))
                .collect()
        }
    };
    let mut keep = keep.into_iter();
    listing.rows.retain(|_| keep.next().unwrap_or(false));
    Ok(listing)
}

/// A filter of tables' names. Those of `information_schema` are capitals, and MySQL makes the pattern so too.
fn of_table_names<'a>(database: &str, filter: &'a ShowFilter) -> Cow<'a, ShowFilter> {
    match filter {
        ShowFilter::Like(pattern) if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) => {
            Cow::Owned(ShowFilter::Like(pattern.to_uppercase()))
        }
        other => Cow::Borrowed(other),
    }
}
