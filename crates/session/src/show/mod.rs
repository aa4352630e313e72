//! SHOW: one file per family. Each makes a [`Listing`]; the filter of the statement is applied here, to all alike.

mod definitions;
mod server;
mod tables;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use functions::EvalContext;
use planner::command::Show;
use schema::model::INFORMATION_SCHEMA;
use syntax::ast::{ServerShow, ShowFilter};
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
            Show::OfServer(show) => self.show_of_server(show, eval),
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
            Show::Empty { what, filter } => self.filtered(server::empty(what), filter, eval),
        }
    }

    fn show_of_server(&mut self, show: &ServerShow, eval: &Arc<EvalContext>) -> Result<Listing> {
        match show {
            ServerShow::Databases(filter) => self.filtered(self.show_databases(filter), filter, eval),
            ServerShow::CreateDatabase { name, if_not_exists } => {
                self.show_create_database(name, *if_not_exists)
            }
            ServerShow::Variables { global, filter } => {
                self.filtered(self.show_variables(*global), filter, eval)
            }
            ServerShow::Status { global: _, filter } => self.filtered(self.show_status(), filter, eval),
            ServerShow::ProcessList { full } => Ok(self.show_process_list(*full)),
            ServerShow::Warnings {
                errors_only,
                offset,
                count,
            } => Ok(self.show_warnings(*errors_only, *offset, *count)),
            ServerShow::CountWarnings { errors_only } => Ok(self.show_count_warnings(*errors_only)),
            ServerShow::Engines => Ok(server::engines(self.shared.store.engine_name())),
            ServerShow::Collation(filter) => self.filtered(server::collations(), filter, eval),
            ServerShow::Charset(filter) => self.filtered(server::charsets(), filter, eval),
            ServerShow::Plugins(filter) => self.filtered(server::plugins(), filter, eval),
            ServerShow::Grants { user } => self.show_grants(user.as_ref()),
            ServerShow::CreateUser(user) => self.show_create_user(user),
            ServerShow::List { words, filter } => self.filtered(server::empty(words), filter, eval),
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
        Show::CreateTable(_) | Show::Regions { .. } => Reads::Nothing,
    }
}

fn reads_of_list(words: &str) -> Reads {
    match words {
        "TRIGGERS" | "EVENTS" | "PROCEDURE STATUS" | "FUNCTION STATUS" => Reads::Dictionary,
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
