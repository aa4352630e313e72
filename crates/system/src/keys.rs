//! Indexes as MySQL shows them: for information_schema, SHOW INDEX and SHOW COLUMNS.

use schema::model::{Handle, Index, IndexPart, SchemaState, Table};
use types::Result;

use crate::table::{Context, Row};

/// All indexes that statements use: the primary key first, also if it has no entries because rows are stored
/// by it.
pub fn all_indexes(table: &Table) -> Vec<Index> {
    let handle = match table.handle {
        Handle::Integer { column } => Some(Index {
            id: 0,
            name: "PRIMARY".to_owned(),
            parts: vec![IndexPart::whole(column)],
            unique: true,
            primary: true,
            comment: String::new(),
            state: SchemaState::Public,
            invisible: false,
            generated: false,
        }),
        Handle::Clustered { .. } | Handle::Hidden => None,
    };
    handle
        .into_iter()
        .chain(table.public_indexes().cloned())
        .collect()
}

/// Calls `make` for each part of each index of the tables that satisfy the conditions on columns `database`
/// and `table`, with the number of the part, from 1.
pub(crate) fn each_part(
    ctx: &Context<'_>,
    (database, table): (usize, usize),
    mut make: impl FnMut(&Table, &Index, &IndexPart, u64) -> Option<Row>,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in ctx.tables(database, table)? {
        for index in all_indexes(table) {
            for (number, part) in (1..).zip(&index.parts) {
                rows.extend(make(table, &index, part, number));
            }
        }
    }
    Ok(rows)
}
