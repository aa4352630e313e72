//! Restrictions of ALTER TABLE on the columns that partition its table.

use schema::definition::{AlterChange, PartitionChange};
use schema::model::Table;
use types::{Error, Result};

/// # Errors
/// 3855 if such a column would be dropped or renamed and the table stays partitioned by it.
pub(crate) fn check_columns_stay(base: &Table, changes: &[AlterChange]) -> Result<()> {
    let replaces = |change: &AlterChange| match change {
        AlterChange::Repartition(change) => replaces_all(change),
        _ => false,
    };
    if base.partitioning.is_none() || changes.iter().any(replaces) {
        return Ok(());
    }
    let depends = columns(base)?;
    for change in changes {
        let name = match change {
            AlterChange::DropColumn { name } => name,
            AlterChange::RenameColumn { from, .. } => from,
            AlterChange::ModifyColumn { name, column, .. } if !types::same_name(&column.name, name) => name,
            _ => continue,
        };
        let found = base.column_offset(name).filter(|offset| depends.contains(offset));
        if let Some(offset) = found {
            return Err(Error::new(
                3855,
                format!(
                    "Column '{}' has a partitioning function dependency and cannot be dropped or renamed.",
                    base.columns[offset].name
                ),
            ));
        }
    }
    Ok(())
}

/// Whether the change is PARTITION BY or REMOVE PARTITIONING, which do not depend on the previous partitions.
pub(crate) fn replaces_all(change: &PartitionChange) -> bool {
    matches!(change, PartitionChange::By(_) | PartitionChange::Remove)
}

/// Whether rows may belong to other partitions: such a column gets another type, or others partition the table. KEY
/// without columns takes those of the primary key, or of the first unique one.
pub(super) fn moves_rows(base: &Table, altered: &Table) -> Result<bool> {
    if base.partitioning.is_none() {
        return Ok(false);
    }
    let changes = |offset: &usize| {
        let before = &base.columns[*offset];
        let after = altered.columns.iter().find(|column| column.id == before.id);
        after.is_none_or(|after| after.ty != before.ty)
    };
    let before = columns(base)?;
    if before.iter().any(changes) {
        return Ok(true);
    }
    if altered.partitioning.is_none() {
        return Ok(false);
    }
    let ids = |table: &Table, columns: &[usize]| -> Vec<i64> {
        columns.iter().map(|&column| table.columns[column].id).collect()
    };
    // Its expressions must not be bound yet, because its partitions may still change.
    let after = columns(&altered.clone())?;
    Ok(ids(base, &before) != ids(altered, &after))
}

fn columns(table: &Table) -> Result<Vec<usize>> {
    planner::expressions(table)?;
    let function = table.partition_function()?;
    Ok(function.map_or_else(Vec::new, |function| function.columns().collect()))
}
