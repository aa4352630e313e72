//! ALTER TABLE ... PARTITION.

use schema::definition::{AlterWay, Ddl, PartitionChange};
use schema::partition::{Partition, Partitioning};
use schema::privilege::{Privilege, PrivilegeSet};
use syntax::ast::{AlterItem, Maintenance, ObjectName, PartitionAction, PartitionDefinition, PartitionNames};
use types::{Error, Result, errno};

use super::{Binder, partition};

/// A change of partitions that is the statement's only change.
pub(super) fn bind_alter_partitions(
    binder: &Binder<'_>,
    name: &ObjectName,
    action: &PartitionAction,
    way: AlterWay,
) -> Result<Ddl> {
    let table = binder.base_table(name, needed_for(action))?;
    let partitioning = || {
        table.partitioning.as_deref().ok_or_else(|| {
            Error::new(
                1505,
                "Partition management on a not partitioned table is not possible",
            )
        })
    };
    let name = binder.table_name(name)?;
    let change = match action {
        PartitionAction::By(_) | PartitionAction::Remove => repartition(binder, action)?,
        PartitionAction::Add(written) => PartitionChange::Add(added(binder, written, partitioning()?)?),
        PartitionAction::AddCount(count) => PartitionChange::AddCount(*count),
        PartitionAction::Drop(names) => PartitionChange::Drop(names.clone()),
        PartitionAction::Truncate(names) => PartitionChange::Truncate(named(names)),
        PartitionAction::Coalesce(count) => PartitionChange::Coalesce(*count),
        PartitionAction::Rebuild(names) => PartitionChange::Rebuild(named(names)),
        PartitionAction::Reorganize { names, into } => PartitionChange::Reorganize {
            names: names.clone(),
            into: added(binder, into, partitioning()?)?,
        },
        PartitionAction::Exchange {
            partition,
            table: other,
            validates,
        } => {
            return Ok(Ddl::ExchangePartition {
                name,
                partition: partition.clone(),
                other: binder.table_name(other)?,
                validates: *validates,
            });
        }
    };
    Ok(Ddl::AlterPartitions { name, change, way })
}

/// PARTITION BY and REMOVE PARTITIONING, which may be combined with other changes.
///
/// # Errors
/// 1064 for others.
pub(super) fn repartition(binder: &Binder<'_>, action: &PartitionAction) -> Result<PartitionChange> {
    match action {
        PartitionAction::By(written) => Ok(PartitionChange::By(Box::new(partition::bind_partitioning(
            binder, written,
        )?))),
        PartitionAction::Remove => Ok(PartitionChange::Remove),
        _ => Err(stands_alone()),
    }
}

/// Error 1064.
pub(super) fn stands_alone() -> Error {
    Error::new(
        errno::ER_PARSE_ERROR,
        "You have an error in your SQL syntax: this change of partitions cannot be combined with other changes",
    )
}

/// New partitions of a table that has some.
fn added(binder: &Binder<'_>, written: &[PartitionDefinition], of: &Partitioning) -> Result<Vec<Partition>> {
    let width = match of.sub {
        Some(_) => of.partitions.first().map_or(1, Partition::width),
        None => 0,
    };
    partition::partitions(binder, written, of, width)
}

fn named(names: &PartitionNames) -> Option<Vec<String>> {
    match names {
        PartitionNames::All => None,
        PartitionNames::Named(names) => Some(names.clone()),
    }
}

/// What ALTER TABLE ... ANALYZE PARTITION, CHECK, OPTIMIZE and REPAIR PARTITION do, and with which
/// partitions.
pub fn maintained(items: &[AlterItem]) -> Option<(Maintenance, &PartitionNames)> {
    match items {
        [AlterItem::MaintainPartitions(action, names)] => Some((*action, names)),
        _ => None,
    }
}

/// Returns the error that the statement lists as a row: 1146, 1347, 1505 for a table without partitions, 1507 for an
/// unknown partition.
///
/// # Errors
/// Those of privileges.
pub(super) fn check_maintained(
    binder: &Binder<'_>,
    name: &ObjectName,
    action: Maintenance,
    names: &PartitionNames,
) -> Result<Option<Error>> {
    let privileges = match action {
        Maintenance::Check => PrivilegeSet::SELECT,
        _ => PrivilegeSet::SELECT | PrivilegeSet::INSERT,
    };
    let table = match binder.base_table(name, privileges) {
        Ok(table) => table,
        Err(error) if matches!(error.code, errno::ER_NO_SUCH_TABLE | errno::ER_WRONG_OBJECT) => {
            return Ok(Some(error));
        }
        Err(error) => return Err(error),
    };
    if table.partitioning.is_none() {
        return Ok(Some(Error::new(
            1505,
            "Partition management on a not partitioned table is not possible",
        )));
    }
    let unknown = match names {
        PartitionNames::All => false,
        PartitionNames::Named(names) => table.selected_leaves(names).is_err(),
    };
    Ok(unknown.then(|| {
        // MySQL names the table in place of the action.
        let message = format!("Error in list of partitions to {}.{}", table.database, table.name);
        Error::new(1507, message)
    }))
}

/// What the account needs on the table.
fn needed_for(action: &PartitionAction) -> PrivilegeSet {
    let needed: &[Privilege] = match action {
        PartitionAction::Truncate(_) => &[Privilege::Drop],
        PartitionAction::Drop(_) => &[Privilege::Drop, Privilege::Alter],
        PartitionAction::Exchange { .. } => &[
            Privilege::Insert,
            Privilege::Create,
            Privilege::Drop,
            Privilege::Alter,
        ],
        _ => &[Privilege::Alter],
    };
    PrivilegeSet::of(needed)
}
