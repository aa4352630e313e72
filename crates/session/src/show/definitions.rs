//! SHOW CREATE TABLE and SHOW CREATE DATABASE.

use schema::definition::TableName;
use schema::show_create::{self, Style};
use types::{Result, Value};

use crate::listing::{Listing, text};
use crate::session::Session;

impl Session {
    fn show_create_style(&self) -> Style {
        let ansi = self.settings.sql_mode.ansi_quotes;
        Style {
            quote: if ansi { '"' } else { '`' },
            time_zone: self.settings.time_zone,
        }
    }

    pub(super) fn show_create_table(&self, name: &TableName) -> Result<Listing> {
        let table = self.table(name)?;
        self.check_locked_table(&table, cluster::metadata_lock::Use::Read)?;
        let next_id = if table.id_column().is_some() {
            Some(self.shared.catalog.cluster.ids().next(&table)?)
        } else {
            None
        };
        let create = show_create::table(&table, next_id, &self.show_create_style());
        let mut listing = Listing::texts(&["Table", "Create Table"]);
        listing.push(vec![text(&table.name), Value::String(create)]);
        Ok(listing)
    }

    pub(super) fn show_create_database(&self, name: &str, if_not_exists: bool) -> Result<Listing> {
        self.account.check_database(name)?;
        let schema = self.shared.catalog.cluster.schema();
        let database = schema
            .database(name)
            .ok_or_else(|| crate::errors::unknown_database(name))?;
        let create = show_create::database(database, if_not_exists, &self.show_create_style());
        let mut listing = Listing::texts(&["Database", "Create Database"]);
        listing.push(vec![text(&database.name), Value::String(create)]);
        Ok(listing)
    }
}
