//! CREATE TABLE ... SELECT: a table that becomes visible together with its rows.
//!
//! The table gets its id first. Its rows are written under the id while no schema has the table. Then the
//! definition is published. If something fails before that, the rows are discarded, and no statement has seen the
//! table. What a crash leaves are rows under an id that no table has.

use schema::definition::{TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::Table;
use schema::new_table;
use types::{Result, Warning, errno};

use crate::about::About;
use crate::change::{Change, Outcome, ranges};
use crate::changer::SchemaChanger;
use crate::context::{DdlContext, Statement, check_not_system, table_exists};

impl SchemaChanger {
    /// The table with an id of its own, not visible yet. `None`: there is a table of this name, which IF NOT EXISTS
    /// allows; the note says so.
    ///
    /// # Errors
    /// Those of CREATE TABLE.
    pub fn prepare_table(
        &self,
        (name, definition, if_not_exists): (&TableName, &TableDefinition, bool),
        ctx: &DdlContext,
    ) -> Result<(Option<Table>, Vec<Warning>)> {
        let statement = loading(name, ctx);
        self.cluster().follow()?;
        self.publish_for(&statement, |change| {
            check_not_system(&change.schema, &name.database, &statement)?;
            check_table_name(&name.name)?;
            if let Err(exists) = check_free(change, name) {
                if if_not_exists {
                    let note = Warning::note(errno::ER_TABLE_EXISTS_ERROR, exists.message);
                    return Ok(Outcome::Nothing((None, vec![note])));
                }
                return Err(exists);
            }
            let (mut table, warnings) = new_table(name, definition, ctx.now_us)?;
            planner::check_partitions(&table)?;
            table.id = change.meta.next_id()?;
            table.place_anew(|| change.meta.next_id())?;
            Ok(Outcome::Stored((Some(table), warnings)))
        })
    }

    /// Makes a prepared table visible, whose rows are committed.
    ///
    /// # Errors
    /// 1050 where the name has been taken meanwhile; those of the store. The rows are discarded.
    pub fn publish_table(&self, table: &Table, ctx: &DdlContext) -> Result<()> {
        let name = table.table_name();
        let statement = loading(&name, ctx);
        let published = self.publish_for(&statement, |change| {
            check_free(change, &name)?;
            change.put_table(Table {
                readable_from_ts: change.ts,
                ..table.clone()
            })?;
            Ok(Outcome::Done(()))
        });
        match published {
            Ok(()) => {
                self.wait_for_all_nodes(&ctx.limit());
                Ok(())
            }
            Err(error) => {
                self.discard_table(table, ctx);
                Err(error)
            }
        }
    }

    /// Destroys the rows of a prepared table that does not become visible.
    pub fn discard_table(&self, table: &Table, ctx: &DdlContext) {
        let statement = loading(&table.table_name(), ctx);
        let discarded = self.publish_for(&statement, |change| {
            change.discard(ranges(table.data_ranges()))?;
            Ok(Outcome::Stored(()))
        });
        if let Err(error) = discarded {
            tracing::warn!(%error, table = table.id, "rows of a table that was not created are left in the store");
        }
    }
}

fn loading<'a>(name: &TableName, ctx: &'a DdlContext) -> Statement<'a> {
    Statement {
        ctx,
        about: About {
            kind: "create table".to_owned(),
            database: name.database.clone(),
            table: name.name.clone(),
            created_us: ctx.now_us,
        },
    }
}

/// Error 1049 or 1050.
fn check_free(change: &Change<'_>, name: &TableName) -> Result<()> {
    match change.database(&name.database)?.table(&name.name) {
        None => Ok(()),
        Some(_) => Err(table_exists(&name.name)),
    }
}
