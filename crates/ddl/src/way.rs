//! Checks whether an ALTER TABLE can be carried out with its ALGORITHM and LOCK.
//!
//! | what the statement does | ALGORITHM | LOCK |
//! |---|---|---|
//! | changes only the definition | INSTANT, INPLACE | any: the table is closed for a moment |
//! | builds indexes, or checks rows | INPLACE; COPY for new constraints | NONE; EXCLUSIVE on demand |
//! | rewrites all rows | COPY or INPLACE, as in MySQL | NONE; EXCLUSIVE on demand |
//! | reads all rows, gives them ids, or builds indexes of what it also changes | INPLACE | SHARED; EXCLUSIVE on demand |
//!
//! MySQL refuses LOCK=NONE where an index and a virtual column that it needs are new.
//! MySQL can do every change with ALGORITHM=COPY, and copies the rows then; so does StemDB.

use schema::definition::{AlterAlgorithm, AlterChange, AlterLock, AlterWay, PartitionChange};
use schema::model::Table;
use types::{Error, Result, errno};

use crate::altered::Altered;
use crate::between::{is_online, reads_rows, sees_rows};
use crate::rewrite::Rewrite;

/// What other statements can do with a table while its indexes or rows are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Write,
    Read,
    /// They wait.
    Nothing,
}

/// What other statements can do with the table meanwhile. Where nothing is made, that is nothing, for a moment.
///
/// # Errors
/// 1221, 1845 and 1846 if the change cannot be made in the requested way.
pub(crate) fn check(
    way: AlterWay,
    base: &Table,
    changes: &[AlterChange],
    altered: &mut Altered,
) -> Result<Others> {
    let AlterWay { algorithm, lock } = way;
    if algorithm == AlterAlgorithm::Instant && lock != AlterLock::Default {
        return Err(Error::new(
            errno::ER_WRONG_USAGE,
            "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE",
        ));
    }
    if algorithm == AlterAlgorithm::Copy {
        if lock == AlterLock::None {
            return Err(Error::new(
                errno::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
                "LOCK=NONE is not supported. Reason: COPY algorithm requires a lock. Try LOCK=SHARED.",
            ));
        }
        if let Some(rewrite) = &mut altered.rewrite {
            rewrite.copies = true;
        }
        if let Some(conversion) = &mut altered.conversion {
            conversion.validates = true;
        }
    }
    if let Some(rewrite) = altered.rewrite {
        check_rewrite(algorithm, lock, rewrite)?;
    }
    if altered.checks_new_keys() {
        check_new_keys(algorithm)?;
    }
    if altered.adds_checks && altered.rewrite.is_none() {
        match algorithm {
            AlterAlgorithm::Instant => return Err(not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY")),
            AlterAlgorithm::Inplace => return Err(not_supported("ALGORITHM=INPLACE", "ALGORITHM=COPY")),
            AlterAlgorithm::Copy | AlterAlgorithm::Default => {}
        }
    }
    let is_not_instant = |change: &AlterChange| {
        matches!(
            change,
            AlterChange::RenameIndex { .. } | AlterChange::DefaultCollation(_)
        )
    };
    let is_not_instant = changes.iter().any(is_not_instant) || altered.auto_increment.is_some();
    let lock = check_words(changes, algorithm, lock)?;
    let builds = !altered.new_indexes.is_empty();
    let looks = sees_rows(altered);
    if algorithm == AlterAlgorithm::Instant && (builds || looks || is_not_instant) {
        return Err(match indexes_new_virtual(base, altered) {
            true => Error::new(
                errno::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
                "ALGORITHM=INSTANT is not supported. Reason: ADD COLUMN col...VIRTUAL, ADD INDEX(col). Try \
                 ALGORITHM=COPY/INPLACE.",
            ),
            false => not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        });
    }
    // While others write, a counter of ids can be raised only.
    let may_lower_ids = altered.auto_increment.is_some() && lock != AlterLock::None;
    let others = match is_online(base, altered) && !may_lower_ids {
        true => Others::Write,
        false if builds || reads_rows(altered) => Others::Read,
        false => Others::Nothing,
    };
    let is_rename = !changes.is_empty()
        && changes
            .iter()
            .all(|change| matches!(change, AlterChange::RenameTable { .. } | AlterChange::Copy));
    match lock {
        AlterLock::None | AlterLock::Shared if is_rename && others == Others::Nothing => {
            Err(not_supported("LOCK=NONE/SHARED", "LOCK=EXCLUSIVE"))
        }
        AlterLock::None if others == Others::Read => Err(not_supported("LOCK=NONE", "LOCK=SHARED")),
        AlterLock::Exclusive => Ok(Others::Nothing),
        _ => Ok(others),
    }
}

/// Whether an index and a virtual column that it has are new.
fn indexes_new_virtual(base: &Table, altered: &Altered) -> bool {
    let indexes = altered.table.indexes.iter();
    let new = indexes.filter(|index| altered.new_indexes.contains(&index.id));
    let mut columns = new
        .flat_map(|index| &index.parts)
        .filter_map(|part| altered.table.columns.get(part.column));
    columns.any(|column| column.id > base.max_column_id && column.is_virtual())
}

/// A change of partitions that copies no rows.
///
/// # Errors
/// 1845 if it cannot be made in the requested way.
pub(crate) fn check_partitions(way: AlterWay, change: &PartitionChange) -> Result<()> {
    match (way.algorithm, way.lock, change) {
        // As in MySQL, which ignores both.
        (_, _, PartitionChange::Truncate(_)) => Ok(()),
        (AlterAlgorithm::Instant, _, _) => Err(not_supported("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE")),
        (_, AlterLock::None, PartitionChange::Rebuild(_) | PartitionChange::Reorganize { .. }) => {
            Err(not_supported("LOCK=NONE", "LOCK=SHARED"))
        }
        _ => Ok(()),
    }
}

/// Refuses what MySQL refuses for a change that rewrites rows.
fn check_rewrite(algorithm: AlterAlgorithm, lock: AlterLock, rewrite: Rewrite) -> Result<()> {
    let (what, instead) = match (algorithm, lock) {
        (AlterAlgorithm::Instant, _) => ("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        (AlterAlgorithm::Inplace, _) if rewrite.copies => ("ALGORITHM=INPLACE", "ALGORITHM=COPY"),
        (_, AlterLock::None) if rewrite.stops_writers => ("LOCK=NONE", "LOCK=SHARED"),
        _ => return Ok(()),
    };
    let reason = match algorithm {
        AlterAlgorithm::Instant if rewrite.reason == Rewrite::TYPE.reason => {
            Some("Need to rebuild the table to change column type")
        }
        _ => rewrite.reason,
    };
    Err(match reason {
        Some(reason) => Error::new(
            errno::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
            format!("{what} is not supported. Reason: {reason}. Try {instead}."),
        ),
        None => not_supported(what, instead),
    })
}

/// MySQL copies the table for new foreign keys, unless they are not checked.
fn check_new_keys(algorithm: AlterAlgorithm) -> Result<()> {
    let (what, instead) = match algorithm {
        AlterAlgorithm::Instant => ("INSTANT", "COPY/INPLACE"),
        AlterAlgorithm::Inplace => ("INPLACE", "COPY"),
        AlterAlgorithm::Copy | AlterAlgorithm::Default => return Ok(()),
    };
    Err(Error::new(
        errno::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
        format!(
            "ALGORITHM={what} is not supported. Reason: Adding foreign keys needs foreign_key_checks=OFF. Try \
             ALGORITHM={instead}."
        ),
    ))
}

/// MySQL makes a FULLTEXT index while others only read. The lock that is needed here: none.
fn check_words(changes: &[AlterChange], algorithm: AlterAlgorithm, lock: AlterLock) -> Result<AlterLock> {
    let is_made = |change: &AlterChange| {
        matches!(
            change,
            AlterChange::AddIndex {
                full_text: Some(_),
                ..
            }
        )
    };
    if !changes.iter().any(is_made) {
        return Ok(lock);
    }
    let (what, instead) = match (algorithm, lock) {
        (AlterAlgorithm::Instant, _) => ("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"),
        (_, AlterLock::None) => ("LOCK=NONE", "LOCK=SHARED"),
        (_, AlterLock::Shared) => return Ok(AlterLock::Default),
        _ => return Ok(lock),
    };
    Err(Error::new(
        errno::ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
        format!("{what} is not supported. Reason: Fulltext index creation requires a lock. Try {instead}."),
    ))
}

fn not_supported(what: &str, instead: &str) -> Error {
    Error::new(
        errno::ER_ALTER_OPERATION_NOT_SUPPORTED,
        format!("{what} is not supported for this operation. Try {instead}."),
    )
}
