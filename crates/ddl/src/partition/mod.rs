//! ALTER TABLE ... PARTITION BY, REMOVE PARTITIONING, and ADD, DROP, TRUNCATE, COALESCE, REORGANIZE, EXCHANGE
//! and REBUILD PARTITION.
//!
//! No other statement uses the table meanwhile. What moves no row between partitions is one step. What does
//! copies rows to new places beside the old ones, under a job; then one step gives the table the new places, and
//! the old ones become garbage. So a crash at any point leaves the table as it was or as it is to be.

mod columns;
mod copy;
mod exchange;
mod plan;

use kv::Interrupt;
use schema::definition::{PartitionChange, TableName};
use schema::model::{Schema, Table};
use std::sync::Arc;
use types::{Result, Warning};

use self::plan::{Repartitioned, repartitioned};
use crate::change::{Outcome, ranges};
use crate::changer::{Jobs, SchemaChanger};
use crate::context::{Statement, changeable_table};
use crate::end::end_with_target;
use crate::job::{Job, TableChange};
use crate::publish::{Publisher, Requires};

pub(crate) use self::columns::{check_columns_keep_types, check_columns_stay};
pub(crate) use self::exchange::exchange_partition;

pub(crate) fn alter_partitions(
    changer: &SchemaChanger,
    name: &TableName,
    change: &PartitionChange,
    statement: &Statement,
) -> Result<Vec<Warning>> {
    let base = changeable_table(&changer.cluster().schema(), name, statement)?;
    let planned = repartitioned(&base, change)?;
    if planned.copies {
        let plan = |base: &Table| {
            let planned = repartitioned(base, change)?;
            Ok((planned.table, planned.drops_misplaced))
        };
        match &changer.jobs {
            Jobs::Local(jobs) => jobs.copy_to_places(name, &plan, statement)?,
            Jobs::Shared(jobs) => jobs.copy_to_places(name, &plan, statement)?,
        }
        return Ok(Vec::new());
    }
    let resolve = |schema: &Schema| Ok(vec![changeable_table(schema, name, statement)?.id]);
    changer.change_tables(statement, &resolve, &mut |made| {
        let base = made.table(&name.database, &name.name)?;
        let Repartitioned { mut table, .. } = repartitioned(&base, change)?;
        if let Some(partitioning) = &mut table.partitioning {
            partitioning.place(|| made.meta.next_id())?;
        }
        let lost = base.data_ranges_beside(&table);
        if !lost.is_empty() {
            table.readable_from_ts = made.ts;
        }
        made.discard(ranges(lost))?;
        made.put_table(table)?;
        Ok(Outcome::Done(()))
    })?;
    Ok(Vec::new())
}

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
