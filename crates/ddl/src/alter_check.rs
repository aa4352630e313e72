//! Plans an ALTER TABLE, and checks it against data in the store besides the table's definition.

use cluster::Cluster;
use schema::definition::AlterChange;
use schema::model::{Schema, Table};
use schema::sharded_id;
use types::Result;

use crate::alter_plan::alter;
use crate::altered::Altered;
use crate::context::{DdlContext, check_primary_key};
use crate::foreign_key;
use crate::new_name::check_free;

/// The result of an ALTER TABLE, if the change is possible.
pub(crate) fn altered(
    cluster: &Cluster,
    schema: &Schema,
    base: &Table,
    changes: &[AlterChange],
    ctx: &DdlContext,
) -> Result<Altered> {
    let altered = alter(base, changes, ctx)?;
    check_primary_key(&altered.table, ctx)?;
    planner::check_partitions(&altered.table)?;
    schema
        .require_database(&base.database)?
        .check_constraint_names(&altered.table)?;
    check_sequence_fits(cluster, base, &altered)?;
    foreign_key::check_altered(schema, base, &altered, ctx)?;
    if let Some(to) = &altered.rename
        && (&to.database, &to.name) != (&base.database, &base.name)
    {
        check_free(schema, to, ctx)?;
        foreign_key::check_renamed(schema, &altered.table, to)?;
    }
    Ok(altered)
}

/// The ids that any node has allocated must fit into the sequence bits of the new AUTO_RANDOM. As in TiDB,
/// ids that are leased count as allocated.
fn check_sequence_fits(cluster: &Cluster, base: &Table, altered: &Altered) -> Result<()> {
    let Some(at) = altered.table.id_column() else {
        return Ok(());
    };
    let column = &altered.table.columns[at];
    let Some(new) = column.auto_random else {
        return Ok(());
    };
    let next = cluster.ids().first_unleased(base)?;
    if next <= new.layout(column.ty.unsigned).last() {
        return Ok(());
    }
    let sequence_bits = u64::BITS - next.leading_zeros();
    let range_bits = u32::from(new.range_bits) - u32::from(!column.ty.unsigned);
    let most = range_bits.saturating_sub(sequence_bits) as u8;
    Err(sharded_id::too_many_shard_bits(
        most,
        u64::from(new.shard_bits),
        &column.name,
    ))
}
