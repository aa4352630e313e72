//! A change of partitions that copies rows: a job, the copy, and the step that publishes it.

use std::sync::Arc;

use kv::Interrupt;
use schema::model::Table;
use types::Result;

use super::copy;
use crate::change::Outcome;
use crate::context::Statement;
use crate::end::end_with_target;
use crate::job::{Job, TableChange};
use crate::publish::{Publisher, Requires};

/// Allocates the places that a definition has none for.
pub(crate) fn with_places(publisher: &Publisher, mut table: Table, statement: &Statement) -> Result<Table> {
    publisher.publish(&statement.limit(), Requires::AllNodes, None, |change| {
        if table.physical == Some(0) {
            table.physical = Some(change.meta.next_id()?);
        }
        if let Some(partitioning) = &mut table.partitioning {
            partitioning.place(|| change.meta.next_id())?;
        }
        Ok(Outcome::Stored(table))
    })
}

/// The job of a statement that copies rows to new places.
pub(crate) fn copying_job(base: &Table, target: &Table, statement: &Statement) -> Job {
    Job {
        tables: vec![base.id],
        change: Some(TableChange {
            table: base.id,
            target: target.clone(),
            rename: None,
            new_indexes: Vec::new(),
            dropped_indexes: Vec::new(),
            online: false,
            state: None,
            conversion: None,
            new_checks: Vec::new(),
            new_keys: Vec::new(),
            keys_unchecked: false,
        }),
        ..Job::of(&statement.about)
    }
}

/// Copies the rows and publishes the new definition. `target`: that definition, and whether rows that no partition
/// takes are left out. The caller excludes other statements from the table.
pub(crate) fn copy_and_publish(
    publisher: &Publisher,
    base: &Table,
    target: (&Table, bool),
    job: &Job,
    statement: &Statement,
) -> Result<()> {
    let interrupt: &Arc<Interrupt> = &statement.interrupt;
    copy::copy(&publisher.cluster, base, target, job, interrupt)?;
    publisher.publish(
        &statement.limit(),
        Requires::AllNodes,
        Some(&statement.about),
        |change| end_with_target(change, job),
    )
}
