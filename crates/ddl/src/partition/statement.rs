//! ALTER TABLE ... PARTITION, except EXCHANGE.

use schema::definition::{AlterChange, AlterWay, PartitionChange, TableName};
use schema::model::Schema;
use types::Result;

use super::plan::{Repartitioned, repartitioned};
use crate::alter::alter_table;
use crate::change::{Outcome, ranges};
use crate::changer::SchemaChanger;
use crate::context::{Statement, changeable_table};
use crate::executed::Executed;
use crate::way;

pub(crate) fn alter_partitions(
    changer: &SchemaChanger,
    name: &TableName,
    change: &PartitionChange,
    way: AlterWay,
    statement: &Statement,
) -> Result<Executed> {
    let base = changeable_table(&changer.cluster().schema(), name, statement)?;
    let planned = repartitioned(&base, change)?;
    if planned.copies {
        let changes = [AlterChange::Repartition(change.clone())];
        return alter_table(changer, name, &changes, way, statement);
    }
    way::check_partitions(way, change)?;
    let resolve = |schema: &Schema| Ok(vec![changeable_table(schema, name, statement)?.id]);
    changer.change_tables(statement, &resolve, &mut |made| {
        let base = made.table(&name.database, &name.name)?;
        let Repartitioned { mut table, .. } = repartitioned(&base, change)?;
        if let Some(partitioning) = &mut table.partitioning {
            partitioning.place(|| made.meta.next_id())?;
        }
        let lost = base.data_ranges_outside(&table);
        if !lost.is_empty() {
            table.readable_from_ts = made.ts;
        }
        made.discard(ranges(lost))?;
        made.put_table(table)?;
        Ok(Outcome::Done(()))
    })?;
    Ok(Executed::default())
}
