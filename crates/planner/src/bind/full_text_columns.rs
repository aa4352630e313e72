//! FULLTEXT indexes whose columns ALTER TABLE changes.

use schema::definition::{AlterChange, PartitionChange};
use schema::model::{FullText, Index, Table};
use syntax::ast::{AlterItem, IndexDefinition, IndexKind, IndexPart};
use types::{Error, Result, Warning};

use super::added_index::add_index;
use super::{Binder, full_text_index, functional_index};

/// Makes the indexes anew whose columns ALTER TABLE renames, changes or drops. `copies`: the statement has ALGORITHM=COPY.
///
/// # Errors
/// As [`hidden_column`](super::full_text_index::hidden_column); 1795 for several new indexes; 1214 for partitions.
pub(super) fn follow(
    binder: &Binder<'_>,
    table: &Table,
    (items, copies): (&[AlterItem], bool),
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    let is_new =
        |item: &&AlterItem| matches!(item, AlterItem::AddIndex(index) if index.kind == IndexKind::FullText);
    let has_some = table.indexes.iter().any(|index| index.full_text.is_some());
    // MySQL makes one at a time where it does not copy the rows.
    match items.iter().filter(is_new).count() {
        0 => {}
        _ if copies => {}
        1 if has_some => {}
        1 => binder.warn(Warning::warning(
            124,
            "InnoDB rebuilding table to add column FTS_DOC_ID",
        )),
        _ => {
            return Err(Error::new(
                1795,
                "InnoDB presently supports one FULLTEXT index creation at a time",
            ));
        }
    }
    if has_some {
        let written = changes.clone();
        for index in &table.indexes {
            if let Some(words) = &index.full_text
                && !is_dropped(&index.name, &written)
                && is_touched(&words.columns, &written)
            {
                make_anew(binder, table, (index, words), changes)?;
            }
        }
    }
    check_partitions(table, changes)
}

/// Replaces the changes of an index by its removal and a new index with its columns, name and visibility afterwards.
fn make_anew(
    binder: &Binder<'_>,
    table: &Table,
    (index, words): (&Index, &FullText),
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    let columns = words.columns.iter().filter_map(|name| name_after(name, changes));
    let parts: Vec<IndexPart> = columns
        .map(|column| IndexPart {
            column,
            expression: None,
            prefix: None,
            descending: false,
            ordered: false,
        })
        .collect();
    let (mut name, mut invisible) = (index.name.clone(), index.invisible);
    let is_it = |name: &String| types::same_name(name, &index.name);
    let renames =
        |change: &AlterChange| matches!(change, AlterChange::RenameIndex { from, .. } if is_it(from));
    let shows = |change: &AlterChange| matches!(change, AlterChange::SetIndexVisibility { index, .. } if is_it(index));
    // Both together are an error, which they give by themselves.
    let is_wrong = changes.iter().any(renames) && changes.iter().any(shows);
    changes.retain(|change| match change {
        _ if is_wrong => true,
        AlterChange::RenameIndex { from, to } if is_it(from) => {
            name.clone_from(to);
            false
        }
        AlterChange::SetIndexVisibility {
            index: of,
            invisible: after,
        } if is_it(of) => {
            invisible = *after;
            false
        }
        _ => true,
    });
    changes.push(AlterChange::DropIndex {
        name: index.name.clone(),
    });
    if parts.is_empty() {
        return Ok(());
    }
    let again = IndexDefinition {
        kind: IndexKind::FullText,
        name: Some(name),
        parts,
        comment: index.comment.clone(),
        using: None,
        invisible,
        parser: words.ngram.then(|| "ngram".to_owned()),
        words_of: Vec::new(),
    };
    let again = functional_index::add_hidden_columns(binder, table, &again, changes)?;
    changes.push(add_index(&again, Some(table), false)?);
    Ok(())
}

fn is_dropped(name: &str, changes: &[AlterChange]) -> bool {
    changes.iter().any(
        |change| matches!(change, AlterChange::DropIndex { name: dropped } if types::same_name(dropped, name)),
    )
}

/// # Errors
/// 1214 for a table that gets partitions and has a FULLTEXT index afterwards.
fn check_partitions(table: &Table, changes: &[AlterChange]) -> Result<()> {
    let divides = |change: &AlterChange| matches!(change, AlterChange::Repartition(PartitionChange::By(_)));
    if !changes.iter().any(divides) {
        return Ok(());
    }
    let adds = |change: &AlterChange| {
        matches!(
            change,
            AlterChange::AddIndex {
                full_text: Some(_),
                ..
            }
        )
    };
    let stays = |index: &Index| index.full_text.is_some() && !is_dropped(&index.name, changes);
    match changes.iter().any(adds) || table.indexes.iter().any(stays) {
        true => Err(full_text_index::on_partitions()),
        false => Ok(()),
    }
}

/// Whether a change is of one of some columns.
fn is_touched(columns: &[String], changes: &[AlterChange]) -> bool {
    let is_one = |name: &String| columns.iter().any(|column| types::same_name(column, name));
    changes.iter().any(|change| match change {
        AlterChange::RenameColumn { from, .. } => is_one(from),
        AlterChange::ModifyColumn { name, .. } | AlterChange::DropColumn { name } => is_one(name),
        _ => false,
    })
}

/// A column's name after changes; `None` if they drop it. A new column takes the place of a dropped one of its name.
fn name_after(column: &str, changes: &[AlterChange]) -> Option<String> {
    let is_it = |name: &String| types::same_name(name, column);
    let mut name = column.to_owned();
    let mut is_there = true;
    for change in changes {
        match change {
            AlterChange::RenameColumn { from, to } if is_it(from) => name.clone_from(to),
            AlterChange::ModifyColumn {
                name: of,
                column: after,
                ..
            } if is_it(of) => name.clone_from(&after.name),
            AlterChange::DropColumn { name: of } if is_it(of) => is_there = false,
            _ => {}
        }
    }
    let is_again =
        |change: &AlterChange| matches!(change, AlterChange::AddColumn { column, .. } if is_it(&column.name));
    match is_there {
        true => Some(name),
        false => changes.iter().any(is_again).then(|| column.to_owned()),
    }
}
