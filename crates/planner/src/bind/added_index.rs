//! ADD INDEX of ALTER TABLE.

use schema::definition::{AlterChange, IndexColumn};
use schema::model::Table;
use syntax::ast::{IndexDefinition, IndexKind, IndexType};
use types::Result;

use super::create_table::is_whole;
use super::full_text_index;

/// `generated`: for a foreign key only.
pub(super) fn add_index(
    index: &IndexDefinition,
    table: Option<&Table>,
    generated: bool,
) -> Result<AlterChange> {
    let prefix_of = |part: &syntax::ast::IndexPart| {
        let column = table.and_then(|table| Some(&table.columns[table.column_offset(&part.column)?]));
        part.prefix
            .filter(|&prefix| !column.is_some_and(|column| is_whole(&column.ty, prefix)))
    };
    Ok(AlterChange::AddIndex {
        name: index.name.clone().filter(|_| index.kind != IndexKind::Primary),
        columns: index
            .parts
            .iter()
            .map(|part| IndexColumn {
                name: part.column.clone(),
                prefix: prefix_of(part),
                descending: part.descending,
            })
            .collect(),
        unique: matches!(index.kind, IndexKind::Unique | IndexKind::Primary),
        comment: index.comment.clone(),
        invisible: index.invisible,
        generated,
        primary: index.kind == IndexKind::Primary,
        using_btree: index.using == Some(IndexType::BTree),
        full_text: full_text_index::of_definition(index),
    })
}
