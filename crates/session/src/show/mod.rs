//! SHOW: one file per family. Each makes a [`Listing`]; the filter of the statement is applied here, to all alike.

mod definitions;
mod server;
mod tables;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use functions::EvalContext;
use planner::command::{Show, ShowFilter};
use schema::model::INFORMATION_SCHEMA;
use types::{Result, Value};

use crate::listing::Listing;
use crate::session::Session;

impl Session {
    /// Answers a SHOW statement.
    pub(crate) fn show(&mut self, show: &Show, eval: &Arc<EvalContext>) -> Result<Listing> {
        let listing = self.shown(show, eval)?;
        match reads(show) {
            Reads::Dictionary => self.join_transaction(true)?,
            Reads::Accounts => self.join_transaction(false)?,
            Reads::Nothing => {}
        }
        Ok(listing)
    }

    fn shown(&mut self, show: &Show, eval: &Arc<EvalContext>) -> Result<Listing> {
        match show {
            Show::Databases(filter) => self.filtered(self.show_databases(filter), filter, eval),
            Show::Tables {
                database,
                full,
                filter,
            } => {
                let filter = &of_table_names(database, filter);
                self.filtered(self.show_tables(database, *full, filter)?, filter, eval)
            }
            Show::TableStatus { database, filter } => {
                let filter = &of_table_names(database, filter);
                self.filtered(self.show_table_status(database)?, filter, eval)
            }
            Show::Columns { table, full, filter } => {
                self.filtered(self.show_columns(table, *full)?, filter, eval)
            }
            Show::Index { table, filter } => self.filtered(self.show_index(table)?, filter, eval),
            Show::Regions { table, index, filter } => {
                self.filtered(self.show_regions(table, index.as_deref())?, filter, eval)
            }
            Show::CreateTable(table) => self.show_create_table(table),
            Show::CreateDatabase { name, if_not_exists } => self.show_create_database(name, *if_not_exists),
            Show::Variables { global, filter } => self.filtered(self.show_variables(*global), filter, eval),
            Show::Status { global: _, filter } => self.filtered(self.show_status(), filter, eval),
            Show::ProcessList { full } => Ok(self.show_process_list(*full)),
            Show::Warnings {
                errors_only,
                offset,
                count,
            } => Ok(self.show_warnings(*errors_only, *offset, *count)),
            Show::CountWarnings { errors_only } => Ok(self.show_count_warnings(*errors_only)),
            Show::Engines => Ok(server::engines(self.shared.store.engine_name())),
            Show::Collation(filter) => self.filtered(server::collations(), filter, eval),
            Show::Charset(filter) => self.filtered(server::charsets(), filter, eval),
            Show::Plugins(filter) => self.filtered(server::plugins(), filter, eval),
            Show::Grants { user } => self.show_grants(user.as_ref()),
            Show::CreateUser { user } => self.show_create_user(user),
            Show::Empty { what, filter } => self.filtered(server::empty(what), filter, eval),
        }
    }

    /// Keeps the rows that satisfy LIKE (on the first column) or WHERE (over all of them).
    fn filtered(
        &self,
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
                let condition = self.bind_show_filter(condition, &listing.columns)?;
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
}

/// What MySQL reads of its tables for a SHOW statement: with autocommit off that is part of a transaction.
enum Reads {
    Nothing,
    /// As a query of `information_schema` does.
    Dictionary,
    /// Without a snapshot that lasts.
    Accounts,
}

/// Source: MySQL 8.0.33's answers.
fn reads(show: &Show) -> Reads {
    match show {
        Show::Databases(_)
        | Show::Tables { .. }
        | Show::TableStatus { .. }
        | Show::Columns { .. }
        | Show::Index { .. }
        | Show::Collation(_)
        | Show::Charset(_) => Reads::Dictionary,
        Show::Empty { what, .. } => match what.as_str() {
            "TRIGGERS" | "EVENTS" | "PROCEDURE STATUS" | "FUNCTION STATUS" => Reads::Dictionary,
            _ => Reads::Nothing,
        },
        Show::CreateUser { .. } => Reads::Accounts,
        _ => Reads::Nothing,
    }
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
