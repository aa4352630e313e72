//! Computes the definition after an ALTER TABLE that changes partitions, without the store. New places have
//! the id 0.

use schema::definition::{AlterChange, PartitionChange};
use schema::model::{Handle, Table};
use schema::partition::{Bound, Method, Partition, Partitioning, unknown_partition};
use types::{Error, Result};

use super::columns::{moves_rows, replaces_all};
use crate::altered::Altered;
use crate::rewrite::{Rewrite, rewrites};

/// Applies an ALTER TABLE that rewrites rows to the partitions of the table: its changes of partitions, and
/// new places for the rewritten rows.
///
/// # Errors
/// As [`repartitioned`].
pub(crate) fn apply(base: &Table, changes: &[AlterChange], altered: &mut Altered) -> Result<()> {
    let wanted = changes.iter().find_map(|change| match change {
        AlterChange::Repartition(wanted) => Some(wanted),
        _ => None,
    });
    let moves = wanted.is_some() || moves_rows(base, &altered.table)?;
    if moves {
        let why = Rewrite {
            copies: wanted.is_none_or(replaces_all),
            regroups: base.partitioning.is_some() && base.handle == Handle::Hidden,
            ..Rewrite::IN_PLACE
        };
        rewrites(&mut altered.rewrite, why);
    }
    if altered.rewrite.is_none() {
        return Ok(());
    }
    match wanted {
        Some(PartitionChange::Remove) if base.partitioning.is_none() => return Err(not_partitioned()),
        Some(wanted) => {
            let Repartitioned {
                table,
                drops_misplaced,
                ..
            } = repartitioned(&altered.table, wanted)?;
            altered.table = table;
            altered.drops_misplaced = drops_misplaced;
        }
        None => {
            if let Some(partitioning) = altered.table.partitioning.as_deref_mut() {
                partitioning.clear_ids();
            }
        }
    }
    Ok(())
}

/// The definition afterwards.
#[derive(Debug)]
pub(crate) struct Repartitioned {
    pub table: Table,
    /// Rows of removed places are copied to the new ones. Otherwise they are dropped.
    pub copies: bool,
    /// Such rows are dropped if they belong to no partition, as in MySQL's REORGANIZE PARTITION. Otherwise
    /// they are an error.
    pub drops_misplaced: bool,
}

/// # Errors
/// MySQL's, for changes that the table's partitioning does not allow.
pub(crate) fn repartitioned(base: &Table, change: &PartitionChange) -> Result<Repartitioned> {
    let mut table = base.clone();
    let mut changes_total = false;
    let copies = match change {
        PartitionChange::By(partitioning) => {
            table.partitioning = Some(partitioning.clone());
            table.physical = None;
            true
        }
        PartitionChange::Remove => {
            table.partitioning = None;
            table.physical = Some(0);
            true
        }
        PartitionChange::Add(partitions) => add(partitioning_of(&mut table)?, partitions)?,
        PartitionChange::AddCount(count) => {
            add_count(partitioning_of(&mut table)?, *count)?;
            true
        }
        PartitionChange::Drop(names) => {
            let partitioning = partitioning_of(&mut table)?;
            drop_named(partitioning, names)?;
            false
        }
        PartitionChange::Truncate(names) => {
            let name = base.name.clone();
            for at in named(partitioning_of(&mut table)?, names, |unknown| {
                unknown_partition(unknown, &name)
            })? {
                clear_id_of(partitioning_of(&mut table)?, at);
            }
            false
        }
        PartitionChange::Coalesce(count) => {
            coalesce(partitioning_of(&mut table)?, *count)?;
            true
        }
        PartitionChange::Reorganize { names, into } => {
            let reorganized = reorganize(partitioning_of(&mut table)?, names, into)?;
            changes_total = reorganized.changes_total;
            reorganized.copies
        }
        PartitionChange::Rebuild(names) => {
            named(partitioning_of(&mut table)?, names, |_| wrong_list("REBUILD"))?;
            false
        }
    };
    planner::check_partitions(&table)?;
    // What is wrong with the new partitions themselves is reported before this.
    if changes_total {
        return Err(Error::new(
            1520,
            "Reorganize of range partitions cannot change total ranges except for last partition where it can extend \
             the range",
        ));
    }
    Ok(Repartitioned {
        table,
        copies,
        drops_misplaced: matches!(change, PartitionChange::Reorganize { .. }),
    })
}

fn partitioning_of(table: &mut Table) -> Result<&mut Partitioning> {
    table.partitioning.as_deref_mut().ok_or_else(not_partitioned)
}

/// Error 1505.
pub(crate) fn not_partitioned() -> Error {
    Error::new(
        1505,
        "Partition management on a not partitioned table is not possible",
    )
}

/// Error 1507.
fn wrong_list(verb: &str) -> Error {
    Error::new(1507, format!("Error in list of partitions to {verb}"))
}

/// The positions of the named leaves; `None`: all.
fn named(
    partitioning: &Partitioning,
    names: &Option<Vec<String>>,
    unknown: impl Fn(&str) -> Error,
) -> Result<Vec<usize>> {
    let Some(names) = names else {
        return Ok((0..partitioning.leaves().count()).collect());
    };
    let mut all = Vec::new();
    for name in names {
        let found = partitioning.leaves_named(name);
        if found.is_empty() {
            return Err(unknown(name));
        }
        all.extend(found);
    }
    Ok(all)
}

/// Sets the physical id of a leaf to 0, so that it gets a new one.
fn clear_id_of(partitioning: &mut Partitioning, leaf: usize) {
    let mut at = 0;
    for partition in &mut partitioning.partitions {
        let width = partition.width();
        if leaf < at + width {
            match partition.subpartitions.get_mut(leaf - at) {
                Some(sub) => sub.id = 0,
                None => partition.id = 0,
            }
            return;
        }
        at += width;
    }
}

/// ADD PARTITION with a list. Returns whether rows must be copied.
fn add(partitioning: &mut Partitioning, partitions: &[Partition]) -> Result<bool> {
    if partitions.iter().any(|new| new.width() != partitioning.width()) {
        return Err(Error::new(
            1513,
            "Trying to Add partition(s) with wrong number of subpartitions",
        ));
    }
    list_subpartitions_of(partitioning, partitions);
    let by_hash = !partitioning.by.method.has_values();
    partitioning.partitions.extend(partitions.iter().cloned());
    if !by_hash {
        check_maxvalue(partitioning, partitions.len())?;
        return Ok(false);
    }
    partitioning.listed = true;
    partitioning.clear_ids();
    Ok(true)
}

/// Subpartitions are shown from now on if a statement has listed those of one partition.
fn list_subpartitions_of(partitioning: &mut Partitioning, new: &[Partition]) {
    partitioning.subpartitions_listed |= new.iter().any(Partition::lists_subpartitions);
}

/// No partition can follow MAXVALUE. MySQL reports this before all other errors.
fn check_maxvalue(partitioning: &Partitioning, added: usize) -> Result<()> {
    let before = partitioning.partitions.len().saturating_sub(added);
    let last = before
        .checked_sub(1)
        .and_then(|at| partitioning.partitions.get(at));
    let is_max = last.is_some_and(|p| {
        partitioning.by.method == Method::Range && p.values.iter().flatten().all(|b| *b == Bound::Maxvalue)
    });
    match is_max {
        true => Err(Error::new(
            1481,
            "MAXVALUE can only be used in last partition definition",
        )),
        false => Ok(()),
    }
}

/// `ADD PARTITION PARTITIONS n`: a row may belong to another partition afterwards.
fn add_count(partitioning: &mut Partitioning, count: u64) -> Result<()> {
    if partitioning.by.method.has_values() {
        return Err(Error::new(
            1492,
            format!(
                "For {} partitions each partition must be defined",
                partitioning.by.method.name()
            ),
        ));
    }
    if count == 0 {
        return Err(Error::new(1514, "At least one partition must be added"));
    }
    partitioning.count_given = true;
    for _ in 0..count.min(schema::partition::MAX_PARTITIONS as u64 + 1) {
        // A name that is there already is an error, as in MySQL.
        let number = partitioning.partitions.len();
        partitioning.partitions.push(Partition {
            name: format!("p{number}"),
            values: Vec::new(),
            options: schema::partition::PartitionOptions::default(),
            id: 0,
            subpartitions: Vec::new(),
        });
    }
    partitioning.clear_ids();
    Ok(())
}

fn coalesce(partitioning: &mut Partitioning, count: u64) -> Result<()> {
    if partitioning.by.method.has_values() {
        return Err(Error::new(
            1509,
            "COALESCE PARTITION can only be used on HASH/KEY partitions",
        ));
    }
    if count == 0 {
        return Err(Error::new(1515, "At least one partition must be coalesced"));
    }
    let left = (partitioning.partitions.len() as u64).checked_sub(count);
    let Some(left) = left.filter(|left| *left > 0) else {
        return Err(cannot_remove_all());
    };
    partitioning.partitions.truncate(left as usize);
    partitioning.count_given = true;
    partitioning.clear_ids();
    Ok(())
}

fn drop_named(partitioning: &mut Partitioning, names: &[String]) -> Result<()> {
    if !partitioning.by.method.has_values() {
        return Err(Error::new(
            1512,
            "DROP PARTITION can only be used on RANGE/LIST partitions",
        ));
    }
    for name in names {
        let at = partitioning.partition_named(name);
        partitioning
            .partitions
            .remove(at.ok_or_else(|| wrong_list("DROP"))?);
    }
    match partitioning.partitions.is_empty() {
        true => Err(cannot_remove_all()),
        false => Ok(()),
    }
}

/// Error 1508.
fn cannot_remove_all() -> Error {
    Error::new(1508, "Cannot remove all partitions, use DROP TABLE instead")
}

#[derive(Default)]
struct Reorganized {
    /// Rows must be copied.
    copies: bool,
    /// The new ranges end elsewhere than those they replace, and are not just longer ones at the table's end.
    changes_total: bool,
}

/// REORGANIZE PARTITION.
fn reorganize(partitioning: &mut Partitioning, names: &[String], into: &[Partition]) -> Result<Reorganized> {
    let method = partitioning.by.method;
    if names.is_empty() {
        return match method.has_values() || partitioning.listed {
            true => Err(Error::new(
                1511,
                "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using \
                 HASH PARTITIONs",
            )),
            false => Ok(Reorganized::default()),
        };
    }
    if names.len() > partitioning.partitions.len() {
        return Err(Error::new(
            1516,
            "More partitions to reorganize than there are partitions",
        ));
    }
    let mut positions = Vec::new();
    for name in names {
        let at = partitioning.partition_named(name);
        match at {
            Some(at) if !positions.contains(&at) => positions.push(at),
            _ => return Err(wrong_list("REORGANIZE")),
        }
    }
    if positions.windows(2).any(|pair| pair[1] != pair[0] + 1) {
        return Err(Error::new(
            1519,
            "When reorganizing a set of partitions they must be in consecutive order",
        ));
    }
    let (first, last) = (positions[0], positions[positions.len() - 1]);
    if !method.has_values() {
        if into.len() != positions.len() {
            return Err(Error::new(
                1510,
                "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers",
            ));
        }
        for (partition, new) in partitioning.partitions[first..=last].iter_mut().zip(into) {
            partition.name.clone_from(&new.name);
            partition.options = new.options.clone();
        }
        partitioning.listed = true;
        return Ok(Reorganized::default());
    }
    if into.iter().any(|new| new.width() != partitioning.width()) {
        return Err(Error::new(
            1485,
            "Wrong number of subpartitions defined, mismatch with previous setting",
        ));
    }
    list_subpartitions_of(partitioning, into);
    let end = |partition: Option<&Partition>| partition.map(|p| p.values.clone());
    let is_last = last + 1 == partitioning.partitions.len();
    let (before, after) = (end(partitioning.partitions.get(last)), end(into.last()));
    partitioning.partitions.splice(first..=last, into.iter().cloned());
    let extends = is_last && is_increasing(partitioning, before.clone(), after.clone());
    Ok(Reorganized {
        copies: true,
        changes_total: method == Method::Range && before != after && !extends,
    })
}

/// Whether the range that ends at `old` becomes larger.
fn is_increasing(
    partitioning: &Partitioning,
    old: Option<Vec<Vec<Bound>>>,
    new: Option<Vec<Vec<Bound>>>,
) -> bool {
    let first = |values: Option<Vec<Vec<Bound>>>| values?.into_iter().next();
    let (Some(old), Some(new)) = (first(old), first(new)) else {
        return false;
    };
    for (old, new) in old.iter().zip(&new) {
        return match (old, new) {
            (Bound::Maxvalue, _) => false,
            (_, Bound::Maxvalue) => true,
            (Bound::Literal(old), Bound::Literal(new)) if old == new => continue,
            (Bound::Literal(old), Bound::Literal(new)) => match (old.parse::<i128>(), new.parse::<i128>()) {
                (Ok(old), Ok(new)) => old < new,
                // Texts are compared under the columns' collations later, when the definition is checked.
                _ => partitioning.by.columns().is_some() && old < new,
            },
            _ => false,
        };
    }
    false
}

/// The partition of EXCHANGE, which has no subpartitions.
///
/// # Errors
/// 1505, 1507, 1736.
pub(crate) fn exchanged(table: &Table, name: &str) -> Result<(usize, i64)> {
    let partitioning = table.partitioning.as_deref().ok_or_else(not_partitioned)?;
    let leaves = partitioning.leaves_named(name);
    match leaves.as_slice() {
        [leaf] => {
            let found = partitioning.leaves().nth(*leaf);
            found
                .map(|found| (*leaf, found.id))
                .ok_or_else(|| unknown_partition(name, &table.name))
        }
        [] => Err(unknown_partition(name, &table.name)),
        _ => Err(Error::new(
            1734,
            "Subpartitioned table, use subpartition instead of partition",
        )),
    }
}

/// Sets the physical id of a leaf.
pub(crate) fn put_leaf_at(table: &mut Table, leaf: usize, place: i64) {
    let Some(partitioning) = table.partitioning.as_deref_mut() else {
        return;
    };
    clear_id_of(partitioning, leaf);
    for partition in &mut partitioning.partitions {
        if partition.subpartitions.is_empty() && partition.id == 0 {
            partition.id = place;
        }
        for sub in partition.subpartitions.iter_mut().filter(|sub| sub.id == 0) {
            sub.id = place;
        }
    }
}
