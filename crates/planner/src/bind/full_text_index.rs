//! FULLTEXT indexes: a hidden column has the words of the index's columns, and the index an entry for each.

use functions::full_text::{self, Parser};
use schema::definition::AlterChange;
use schema::expression::{Generated, StoredExpression};
use schema::model::{Column, FullText, Table};
use syntax::ast::{AlterItem, IndexDefinition, IndexKind};
use types::{Collation, Error, Result, SqlType, TypeKind, Warning, errno};

use super::alter::add_index;
use super::{Binder, functional_index};

/// Makes the column of an index's words, and the only part of it.
///
/// # Errors
/// MySQL's for what such an index cannot be on.
pub(super) fn hidden_column(
    binder: &Binder<'_>,
    table: &Table,
    index: &mut IndexDefinition,
) -> Result<Column> {
    if table.is_temporary() {
        return Err(on_temporary());
    }
    if table.partitioning.is_some() {
        return Err(on_partitions());
    }
    let mut columns: Vec<&Column> = Vec::new();
    for part in &index.parts {
        if part.expression.is_some() {
            return Err(Error::new(3759, "Fulltext functional index is not supported."));
        }
        let offset = table.column_offset(&part.column);
        let column = offset
            .map(|offset| &table.columns[offset])
            .filter(|column| !column.hidden);
        let column = column.ok_or_else(|| {
            Error::new(
                errno::ER_KEY_COLUMN_DOES_NOT_EXITS,
                format!("Key column '{}' doesn't exist in table", part.column),
            )
        })?;
        check_column(column, columns.first().copied())?;
        if columns.iter().any(|other| other.name == column.name) {
            return Err(Error::new(
                errno::ER_DUP_FIELDNAME,
                format!("Duplicate column name '{}'", column.name),
            ));
        }
        columns.push(column);
    }
    let parser = match index.parser.as_deref() {
        None => Parser::BuiltIn,
        Some(name) if name.eq_ignore_ascii_case("ngram") => Parser::Ngram,
        Some(name) => return Err(Error::new(1128, format!("Function '{name}' is not defined"))),
    };
    index.words_of = columns.iter().map(|column| column.name.clone()).collect();
    let is_free = |name: &String| table.column_offset(name).is_none();
    let mut names = (1..).map(|number: usize| format!("!fulltext!{number}"));
    let name = names.find(is_free).unwrap_or_default();
    for part in index.parts.iter_mut().take(1) {
        part.column.clone_from(&name);
        part.prefix = None;
    }
    index.parts.truncate(1);
    let collation = columns
        .first()
        .map_or(Collation::DEFAULT, |column| column.ty.collation);
    Ok(Column {
        generated: Some(Generated {
            expression: words(binder, parser, &index.words_of),
            stored: false,
        }),
        hidden: true,
        elements: Some(full_text::word_type(collation)),
        ..Column::plain(&name, SqlType::JSON, true)
    })
}

/// The expression of the hidden column.
fn words(binder: &Binder<'_>, parser: Parser, columns: &[String]) -> StoredExpression {
    let quoted = columns
        .iter()
        .map(|name| format!("`{}`", name.replace('`', "``")));
    let quoted: Vec<String> = quoted.collect();
    StoredExpression {
        text: format!("{}({})", full_text::words_function(parser), quoted.join(",")),
        sql_mode: types::SqlMode::default(),
        collation: binder.env.collation_connection,
    }
}

fn check_column(column: &Column, first: Option<&Column>) -> Result<()> {
    if column.ty.kind == TypeKind::Json {
        return Err(Error::new(
            errno::ER_JSON_USED_AS_KEY,
            format!(
                "JSON column '{}' supports indexing only via generated columns on a specified JSON path.",
                column.name
            ),
        ));
    }
    let is_text =
        column.ty.is_string() && !column.ty.has_members() && column.ty.collation != Collation::Binary;
    if !is_text || first.is_some_and(|first| first.ty.collation != column.ty.collation) {
        return Err(Error::new(
            1283,
            format!("Column '{}' cannot be part of FULLTEXT index", column.name),
        ));
    }
    match column.is_virtual() {
        true => Err(Error::new(
            3106,
            "'Fulltext index on virtual generated column' is not supported for generated columns.",
        )),
        false => Ok(()),
    }
}

pub(super) fn on_temporary() -> Error {
    Error::new(1796, "Cannot create FULLTEXT index on temporary InnoDB table")
}

pub(super) fn on_partitions() -> Error {
    Error::new(1214, "The used table type doesn't support FULLTEXT indexes")
}

/// What the definition of an index says of words.
pub(super) fn of_definition(index: &IndexDefinition) -> Option<FullText> {
    let is_ngram = |name: &String| name.eq_ignore_ascii_case("ngram");
    (index.kind == IndexKind::FullText).then(|| FullText {
        columns: index.words_of.clone(),
        ngram: index.parser.as_ref().is_some_and(is_ngram),
    })
}

/// Makes the indexes anew whose columns ALTER TABLE renames, changes or drops.
///
/// # Errors
/// As [`hidden_column`]; 1795 for several new indexes.
pub(super) fn follow_columns(
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
