//! What an ALTER TABLE cannot do with the columns that partition its table.

use schema::definition::AlterChange;
use schema::model::Table;
use types::{Error, Result};

/// # Errors
/// 3855 for such a column that would be dropped or renamed.
pub(crate) fn check_columns_stay(base: &Table, changes: &[AlterChange]) -> Result<()> {
    if base.partitioning.is_none() {
        return Ok(());
    }
    let depends = columns(base)?;
    for change in changes {
        let name = match change {
            AlterChange::DropColumn { name } => name,
            AlterChange::RenameColumn { from, .. } => from,
            AlterChange::ModifyColumn { name, column, .. } if !column.name.eq_ignore_ascii_case(name) => name,
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

/// # Errors
/// 1235 for such a column of another type: rows could belong to other partitions then.
pub(crate) fn check_columns_keep_types(base: &Table, altered: &Table) -> Result<()> {
    if base.partitioning.is_none() {
        return Ok(());
    }
    for offset in columns(base)? {
        let before = &base.columns[offset];
        let after = altered.columns.iter().find(|column| column.id == before.id);
        if after.is_none_or(|after| after.ty != before.ty) {
            return Err(Error::not_supported(
                format!(
                    "another type of column `{}`, which partitions the table",
                    before.name
                ),
                "REMOVE PARTITIONING first, and PARTITION BY afterwards",
            ));
        }
    }
    Ok(())
}

fn columns(table: &Table) -> Result<Vec<usize>> {
    planner::expressions(table)?;
    let function = table.partition_function()?;
    Ok(function.map_or_else(Vec::new, |function| function.columns().collect()))
}
