//! CREATE TABLE ... SELECT: a table that becomes visible together with its rows.
//!
//! The table gets its id first. Its rows are written under the id while no schema has the table. Then the
//! definition is published. Between the two there is a job, which ends with the definition. If something fails, or the
//! process crashes, the job is undone: the rows are destroyed, and no statement has seen the table.

use std::ops::Deref;

use schema::definition::{TableDefinition, TableName};
use schema::limits::check_table_name;
use schema::model::{ForeignKey, Schema, Table};
use schema::new_table;
use types::{Result, Warning, errno};

use crate::about::About;
use crate::change::{Change, Outcome};
use crate::changer::{Jobs, SchemaChanger};
use crate::context::{DdlContext, Statement, check_not_system, table_exists};
use crate::create_table::{check_new, publish_new};
use crate::end::{end, own};
use crate::foreign_key;
use crate::foreign_key_rows::check_rows;
use crate::job::{Job, check_not_cancelled, no_such_job};
use crate::shared::Work;

/// A table whose rows are being written, and that no schema has.
pub struct LoadedTable<'a> {
    table: Table,
    job: Job,
    /// Where nodes share the store: that this one works on the job.
    work: Option<Work<'a>>,
}

impl Deref for LoadedTable<'_> {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

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
    ) -> Result<(Option<LoadedTable<'_>>, Vec<Warning>)> {
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
            table.id = change.meta.next_id()?;
            check_new(change, &table, &statement)?;
            table.allocate_physical_ids(|| change.meta.next_id())?;
            let ranges = table.data_ranges().into_iter();
            let mut job = Job {
                fills: ranges.map(|range| (range.start, range.end)).collect(),
                ..Job::of(&statement.about)
            }
            .with_id(&mut change.meta)?;
            let work = match &self.jobs {
                Jobs::Local(_) => None,
                Jobs::Shared(jobs) => Some(jobs.own(&mut job)?),
            };
            job.put(&mut change.meta)?;
            let loaded = LoadedTable { table, job, work };
            Ok(Outcome::Stored((Some(loaded), warnings)))
        })
    }

    /// Makes a prepared table visible, whose rows are committed.
    ///
    /// # Errors
    /// 1050 if the name has been taken meanwhile, 1452 if a parent has been deleted meanwhile, 8214 when cancelled; those
    /// of the store. The rows are discarded.
    pub fn publish_table(&self, loaded: LoadedTable<'_>, ctx: &DdlContext) -> Result<()> {
        let name = TableName::of(&loaded);
        let statement = loading(&name, ctx);
        let parents = || loaded.table.foreign_keys.iter().map(|key| &key.parent);
        let relatives = |schema: &Schema| Ok(foreign_key::relatives(schema, &name, parents()));
        let published = publish_new(self, &statement, &relatives, &mut |change: &mut Change<'_>| {
            let job = own(change, &loaded.job)?.ok_or_else(|| no_such_job(loaded.job.id))?;
            check_not_cancelled(&job)?;
            check_free(change, &name)?;
            let related = foreign_key::relatives(&change.schema, &name, parents());
            if !related.is_empty() {
                check_new(change, &loaded.table, &statement)?;
                self.check_parents(&change.schema, &loaded.table, ctx)?;
            }
            change.put_table(Table {
                readable_from_ts: change.ts,
                ..loaded.table.clone()
            })?;
            foreign_key::touch_relatives(change, &related)?;
            end(change, &job)?;
            Ok(Outcome::Done(()))
        });
        match published {
            Ok(()) => {
                if let Some(work) = loaded.work {
                    work.done();
                }
                self.wait_for_all_nodes(&ctx.limit());
                Ok(())
            }
            Err(error) => {
                self.discard_table(loaded, ctx);
                Err(error)
            }
        }
    }

    /// Checks that the rows, which had their parents when they were written, have them now that no other statement
    /// uses the parents.
    ///
    /// # Errors
    /// 1452.
    fn check_parents(&self, schema: &Schema, table: &Table, ctx: &DdlContext) -> Result<()> {
        let of_others = |key: &&ForeignKey| key.parent != TableName::of(table);
        let keys = table.foreign_keys.iter().filter(of_others);
        let snapshot = self.cluster().store().snapshot_now()?;
        for key in keys.filter(|_| ctx.foreign_key_checks) {
            check_rows(&snapshot, schema, table, key, &ctx.interrupt)?;
        }
        Ok(())
    }

    /// Destroys the rows of a prepared table that does not become visible.
    pub fn discard_table(&self, loaded: LoadedTable<'_>, ctx: &DdlContext) {
        let LoadedTable { table, job, work } = loaded;
        let discarded = match (&self.jobs, work) {
            (Jobs::Shared(jobs), Some(work)) => jobs.undo_at_once(job, work),
            (Jobs::Shared(_), None) => Ok(()),
            (Jobs::Local(jobs), _) => jobs.undo_of_none(job, ctx),
        };
        if let Err(error) = discarded {
            tracing::warn!(%error, table = table.id, "rows of a table that was not created are destroyed later");
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
