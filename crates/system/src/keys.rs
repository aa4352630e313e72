//! Indexes as MySQL shows them: for information_schema, SHOW INDEX and SHOW COLUMNS.

use schema::model::{Index, IndexPart, Table};
use types::Result;

use crate::table::{Context, Row};

/// All indexes that statements use: the primary key first, also if it has no entries because rows are stored
/// by it.
pub fn all_indexes(table: &Table) -> Vec<Index> {
    let handle = table.integer_key().into_iter();
    handle.chain(table.public_indexes().cloned()).collect()
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
