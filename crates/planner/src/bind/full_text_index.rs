//! FULLTEXT indexes: a hidden column has the words of the index's columns, and the index an entry for each.

use functions::full_text::{self, Parser};
use schema::expression::{Generated, StoredExpression};
use schema::model::{Column, FullText, Table};
use syntax::ast::{IndexDefinition, IndexKind};
use types::{Collation, Error, Result, SqlType, TypeKind, errno};

use super::Binder;

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
