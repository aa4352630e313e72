//! SHOW: one file per family. Each makes a [`Listing`], to which the filter of the statement is applied here.

mod absent;
mod definitions;
mod open_tables;
mod privileges;
mod profile;
mod server;
mod tables;

pub use server::process_list;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::record_batch::RecordBatch;
use executor::RowSink;
use functions::EvalContext;
use planner::command::Show;
use schema::model::INFORMATION_SCHEMA;
use schema::privilege::Privilege;
use syntax::ast::{self, EngineShow, ServerShow, ShowFilter};
use types::array::ColumnView;
use types::{Error, Result, SqlType, Value};

use super::inner_plan;
use super::split_table::show_regions;
use crate::compile;
use crate::events::memory;
use crate::listing::Listing;
use crate::session::Session;
use crate::transaction_rules;
use crate::virtual_tables::ServerTables;

/// Answers a SHOW statement.
pub fn show(session: &mut Session, show: &Show, eval: &Arc<EvalContext>) -> Result<Listing> {
    let mut listing = listing(session, show, eval)?;
    if let Some(condition) = listing.pending_filter.take() {
        keep_found(session, &mut listing, &condition)?;
    }
    if let Show::CreateTable { name, .. } = show {
        definitions::warn_of_view(session, name)?;
    }
    if let Show::OfServer(ServerShow::List { words, .. }) = show {
        session.diagnostics.add_all(absent::deprecated(words));
    }
    if let Show::OfServer(ServerShow::Profile(_)) = show {
        session.diagnostics.add_all(absent::deprecated("PROFILE"));
    }
    match reads(show) {
        Reads::Dictionary => transaction_rules::join_transaction(session, true)?,
        Reads::Accounts => transaction_rules::join_transaction(session, false)?,
        Reads::Nothing => {}
    }
    Ok(listing)
}

/// The rows of a SHOW statement, without a transaction.
///
/// # Errors
/// As [`show()`].
pub fn listing(session: &Session, show: &Show, eval: &Arc<EvalContext>) -> Result<Listing> {
    let filtered = |listing, filter: &ShowFilter| filtered(session, listing, filter, eval);
    match show {
        Show::OfServer(show) => of_server(session, show, eval),
        Show::Tables {
            database,
            full,
            filter,
        } => {
            let filter = &of_table_names(database, filter);
            filtered(tables::tables(session, database, *full, filter)?, filter)
        }
        Show::TableStatus { database, filter } => {
            let filter = &of_table_names(database, filter);
            filtered(tables::table_status(session, database)?, filter)
        }
        Show::OpenTables { database, filter } => match filter {
            ShowFilter::Like(pattern) => Ok(open_tables::open_tables(
                session,
                database.as_deref(),
                Some(pattern),
            )),
            _ => filtered(
                open_tables::open_tables(session, database.as_deref(), None),
                filter,
            ),
        },
        Show::Columns { table, full, filter } => filtered(tables::columns(session, table, *full)?, filter),
        Show::Index {
            table,
            extended,
            filter,
        } => filtered(tables::index(session, table, *extended)?, filter),
        Show::Regions { table, index, filter } => {
            filtered(show_regions(session, table, index.as_deref())?, filter)
        }
        Show::CreateTable { name, is_view } => definitions::create_table(session, name, *is_view),
        Show::Empty {
            database,
            what,
            filter,
        } => {
            match *what {
                "TRIGGERS" => session.client.check_database(database)?,
                "EVENTS" => session.client.check_on_database(database, Privilege::Event)?,
                _ => {}
            }
            server::check_list(session, what)?;
            filtered(absent::listing(what), filter)
        }
    }
}

fn of_server(session: &Session, show: &ServerShow, eval: &Arc<EvalContext>) -> Result<Listing> {
    let filtered = |listing, filter: &ShowFilter| filtered(session, listing, filter, eval);
    match show {
        ServerShow::Databases(filter) => filtered(tables::databases(session, filter), filter),
        ServerShow::CreateDatabase { name, if_not_exists } => {
            definitions::create_database(session, name, *if_not_exists)
        }
        ServerShow::Variables { global, filter } => filtered(server::variables(session, *global), filter),
        ServerShow::Status { global, filter } => filtered(server::status(session, *global), filter),
        ServerShow::ProcessList { full } => Ok(server::process_list(session, *full)),
        ServerShow::Warnings {
            errors_only,
            offset,
            count,
        } => Ok(server::warnings(session, *errors_only, *offset, *count)),
        ServerShow::CountWarnings { errors_only } => Ok(server::count_warnings(session, *errors_only)),
        ServerShow::Engine { name, of } => engine(session, name.as_deref(), *of, eval),
        ServerShow::Engines => Ok(server::engines(session.shared.engine.store.engine_name())),
        ServerShow::Collation(filter) => filtered(server::collations(), filter),
        ServerShow::Charset(filter) => filtered(server::charsets(), filter),
        ServerShow::Plugins(filter) => filtered(server::plugins(), filter),
        ServerShow::Grants { user, using } => server::grants(session, user.as_ref(), using),
        ServerShow::Help => Ok(server::help()),
        ServerShow::Privileges => Ok(privileges::all()),
        ServerShow::CreateUser(user) => server::create_user(session, user),
        ServerShow::Profile(show) => Ok(profile::profile(session, show)),
        ServerShow::List { words, .. } if *words == "PROFILES" => Ok(profile::profiles(session)),
        ServerShow::List { words, filter } => {
            server::check_list(session, words)?;
            filtered(absent::listing(words), filter)
        }
    }
}

/// SHOW ENGINE of the only engine, and of what MySQL calls one. There are no measurements of mutexes and logs.
fn engine(session: &Session, name: Option<&str>, of: EngineShow, eval: &Arc<EvalContext>) -> Result<Listing> {
    const ER_UNKNOWN_STORAGE_ENGINE: u16 = 1286;
    let is_named = |engine: &str| name.is_some_and(|name| name.eq_ignore_ascii_case(engine));
    let is_of_measurements = is_named("performance_schema");
    if let Some(name) = name.filter(|_| !is_of_measurements && !is_named("innodb")) {
        let message = format!("Unknown storage engine '{name}'");
        return Err(Error::new(ER_UNKNOWN_STORAGE_ENGINE, message));
    }
    session.client.check_any("PROCESS", &[Privilege::Process], &[])?;
    let mut listing = Listing::texts(&["Type", "Name", "Status"]);
    if is_of_measurements && of == EngineShow::Status {
        for (figure, value) in memory::figures(&session.shared) {
            let row = ["performance_schema", &figure, &value.to_string()];
            listing.push(row.map(|text| Value::String(text.to_owned())).into());
        }
    } else if of == EngineShow::Status {
        let view = session.view();
        let status = ServerTables { view }.engine_status(eval);
        let row = ["InnoDB", "", &status];
        listing.push(row.map(|text| Value::String(text.to_owned())).into());
    }
    Ok(listing)
}

/// The tables that MySQL reads for a SHOW statement. With autocommit off, this read is part of a transaction.
enum Reads {
    Nothing,
    /// Like a query of `information_schema`.
    Dictionary,
    /// Without a snapshot that stays for the transaction.
    Accounts,
}

/// Source: MySQL 8.0.33's answers.
fn reads(show: &Show) -> Reads {
    match show {
        Show::Tables { .. } | Show::TableStatus { .. } | Show::Columns { .. } | Show::Index { .. } => {
            Reads::Dictionary
        }
        Show::Empty { what, .. } => reads_of_list(what),
        Show::OfServer(show) => match show {
            ServerShow::Databases(_) | ServerShow::Collation(_) | ServerShow::Charset(_) => Reads::Dictionary,
            ServerShow::List { words, .. } => reads_of_list(words),
            ServerShow::CreateUser(_) => Reads::Accounts,
            _ => Reads::Nothing,
        },
        Show::CreateTable { .. } | Show::Regions { .. } | Show::OpenTables { .. } => Reads::Nothing,
    }
}

fn reads_of_list(words: &str) -> Reads {
    match words {
        "TRIGGERS" | "EVENTS" | "PROCEDURE STATUS" | "FUNCTION STATUS" => Reads::Dictionary,
        _ => Reads::Nothing,
    }
}

/// Keeps the rows that satisfy LIKE (on the first column) or WHERE (over all columns).
fn filtered(
    session: &Session,
    mut listing: Listing,
    filter: &ShowFilter,
    eval: &Arc<EvalContext>,
) -> Result<Listing> {
    let keep = match filter {
        ShowFilter::None => return Ok(listing),
        ShowFilter::Like(pattern) => {
            // Names of tables and databases are case-sensitive, other names are not.
            let collation = listing.columns[0].ty.collation;
            let matches = |row: &Vec<Value>| match &row[0] {
                Value::String(name) => functions::like(pattern, name, collation),
                _ => false,
            };
            listing.rows.iter().map(matches).collect::<Vec<bool>>()
        }
        ShowFilter::Where(condition) => {
            let Some(bound) = compile::bind_show_filter(session, condition, &listing.columns)? else {
                listing.pending_filter = Some((**condition).clone());
                return Ok(listing);
            };
            let truth: BooleanArray = functions::eval_predicate(&bound, &listing.batch()?, eval)?;
            (0..truth.len())
                .map(|i| truth.is_valid(i) && truth.value(i))
                .collect()
        }
    };
    let mut keep = keep.into_iter();
    listing.rows.retain(|_| keep.next().unwrap_or(false));
    Ok(listing)
}

/// Keeps the rows that satisfy a condition with subqueries.
fn keep_found(session: &mut Session, listing: &mut Listing, condition: &ast::Expr) -> Result<()> {
    let schema = session.shared.engine.cluster.schema();
    let bound = compile::bind_list_query(session, &schema, condition, listing)?;
    let planned = compile::optimized(session, bound, true)?;
    let plan = inner_plan::lock(session, planned, schema.version)?;
    let mut found = Positions(Vec::new());
    inner_plan::query(session, inner_plan::query_of(&plan)?, &mut found)?;
    found.0.sort_unstable();
    let mut at = 0..;
    listing
        .rows
        .retain(|_| at.next().is_some_and(|at| found.0.binary_search(&at).is_ok()));
    Ok(())
}

/// The rows of one integer each.
struct Positions(Vec<i64>);

impl RowSink for Positions {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = ColumnView::new(batch.column(0), &SqlType::BIGINT);
        self.0
            .extend((0..batch.num_rows()).filter_map(|row| column.value(row).as_i64()));
        Ok(())
    }
}

/// A filter of table names. Those of `information_schema` are in upper case, and MySQL converts the pattern
/// to upper case, too.
fn of_table_names<'a>(database: &str, filter: &'a ShowFilter) -> Cow<'a, ShowFilter> {
    match filter {
        ShowFilter::Like(pattern) if database.eq_ignore_ascii_case(INFORMATION_SCHEMA) => {
            Cow::Owned(ShowFilter::Like(pattern.to_uppercase()))
        }
        other => Cow::Borrowed(other),
    }
}
