//! ALTER TABLE ... PARTITION, but for EXCHANGE.

use schema::definition::{PartitionChange, TableName};
use schema::model::{Schema, Table};
use types::{Result, Warning};

use super::plan::{Repartitioned, repartitioned};
use crate::change::{Outcome, ranges};
use crate::changer::{Jobs, SchemaChanger};
use crate::context::{Statement, changeable_table};

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
