//! FULLTEXT indexes whose columns ALTER TABLE changes.

use schema::definition::AlterChange;
use schema::model::Table;
use syntax::ast::{AlterItem, IndexDefinition, IndexKind};
use types::{Error, Result, Warning};

use super::added_index::add_index;
use super::{Binder, functional_index};

/// Makes the indexes anew whose columns ALTER TABLE renames, changes or drops.
///
/// # Errors
/// As [`hidden_column`](super::full_text_index::hidden_column); 1795 for several new indexes.
pub(super) fn follow(
    binder: &Binder<'_>,
    table: &Table,
    items: &[AlterItem],
    changes: &mut Vec<AlterChange>,
) -> Result<()> {
    let is_new =
        |item: &&AlterItem| matches!(item, AlterItem::AddIndex(index) if index.kind == IndexKind::FullText);
    let has_some = table.indexes.iter().any(|index| index.full_text.is_some());
    match items.iter().filter(is_new).count() {
        0 => {}
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
    if !has_some {
        return Ok(());
    }
    let written = changes.clone();
    for index in &table.indexes {
        let Some(words) = &index.full_text else {
            continue;
        };
        let is_dropped = written.iter().any(|change| {
            matches!(change, AlterChange::DropIndex { name } if name.eq_ignore_ascii_case(&index.name))
        });
        let after: Vec<Option<String>> = words
            .columns
            .iter()
            .map(|name| name_after(name, &written))
            .collect();
        if is_dropped || !is_touched(&words.columns, &written) {
            continue;
        }
        let name = index.name.clone();
        changes.push(AlterChange::DropIndex { name: name.clone() });
        let parts: Vec<syntax::ast::IndexPart> = after
            .into_iter()
            .flatten()
            .map(|column| syntax::ast::IndexPart {
                column,
                expression: None,
                prefix: None,
                descending: false,
                ordered: false,
            })
            .collect();
        if parts.is_empty() {
            continue;
        }
        let again = IndexDefinition {
            kind: IndexKind::FullText,
            name: Some(name),
            parts,
            comment: index.comment.clone(),
            using: None,
            invisible: index.invisible,
            parser: words.ngram.then(|| "ngram".to_owned()),
            words_of: Vec::new(),
        };
        let again = functional_index::add_hidden_columns(binder, table, &again, changes)?;
        changes.push(add_index(&again, Some(table), false)?);
    }
    Ok(())
}

/// Whether a change is of one of some columns.
fn is_touched(columns: &[String], changes: &[AlterChange]) -> bool {
    let is_one = |name: &String| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    changes.iter().any(|change| match change {
        AlterChange::RenameColumn { from, .. } => is_one(from),
        AlterChange::ModifyColumn { name, .. } | AlterChange::DropColumn { name } => is_one(name),
        _ => false,
    })
}

/// A column's name after changes; `None` if they drop it.
fn name_after(column: &str, changes: &[AlterChange]) -> Option<String> {
    let is_it = |name: &String| name.eq_ignore_ascii_case(column);
    let mut name = column.to_owned();
    for change in changes {
        match change {
            AlterChange::RenameColumn { from, to } if is_it(from) => name.clone_from(to),
            AlterChange::ModifyColumn {
                name: of,
                column: after,
                ..
            } if is_it(of) => name.clone_from(&after.name),
            AlterChange::DropColumn { name: of } if is_it(of) => return None,
            _ => {}
        }
    }
    Some(name)
}
