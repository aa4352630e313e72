//! Indexes as MySQL shows them: for information_schema, SHOW INDEX and SHOW COLUMNS.

use std::collections::HashMap;
use std::sync::LazyLock;

use schema::model::{Index, IndexPart, SchemaState, Table};
use types::Result;

use crate::table::{Context, Row};

/// The keys that MySQL has on its system tables.
const OF_SYSTEM_TABLES: &str = include_str!("system_keys.txt");

/// All indexes that statements use: the primary key first, also if it has no entries because rows are stored
/// by it. Of a system table, those that MySQL has.
pub fn all_indexes(table: &Table) -> Vec<Index> {
    if table.is_virtual() {
        return of_system_table(table);
    }
    let handle = table.integer_key().into_iter();
    handle
        .chain(table.public_indexes().map(|index| index.shown(table)))
        .collect()
}

/// MySQL's word for how an index is stored.
pub fn index_type(table: &Table, index: &Index) -> &'static str {
    match table.database.as_str() {
        _ if index.full_text.is_some() => "FULLTEXT",
        "performance_schema" => "HASH",
        _ => "BTREE",
    }
}

/// How the entries of an index sort by a part: `A` or `D`. `None`: in no order, as in a hash and of words.
pub fn sort_order(table: &Table, index: &Index, part: &IndexPart) -> Option<&'static str> {
    match (index_type(table, index), part.descending) {
        ("HASH" | "FULLTEXT", _) => None,
        (_, true) => Some("D"),
        (_, false) => Some("A"),
    }
}

fn of_system_table(table: &Table) -> Vec<Index> {
    type Lines = HashMap<&'static str, Vec<&'static str>>;
    static LINES: LazyLock<Lines> = LazyLock::new(|| {
        let mut lines = Lines::new();
        let keys = OF_SYSTEM_TABLES.lines().filter(|line| !line.starts_with('#'));
        for (name, key) in keys.filter_map(|line| line.split_once(' ')) {
            lines.entry(name).or_default().push(key);
        }
        lines
    });
    let name = format!("{}.{}", table.database, table.name);
    let keys = LINES.get(name.as_str()).into_iter().flatten();
    (1..)
        .zip(keys)
        .filter_map(|(id, key)| system_key(table, id, key))
        .collect()
}

/// `name unique|- column[:desc],...`
fn system_key(table: &Table, id: i64, key: &str) -> Option<Index> {
    let mut words = key.split(' ');
    let (name, unique, columns) = (words.next()?, words.next()? == "unique", words.next()?);
    let part = |column: &str| {
        let (column, descending) = match column.strip_suffix(":desc") {
            Some(column) => (column, true),
            None => (column, false),
        };
        Some(IndexPart {
            descending,
            ..IndexPart::whole(table.column_offset(column)?)
        })
    };
    Some(Index {
        id,
        name: name.to_owned(),
        parts: columns.split(',').map(part).collect::<Option<_>>()?,
        unique,
        primary: name == "PRIMARY",
        comment: String::new(),
        state: SchemaState::Public,
        invisible: false,
        generated: false,
        using_btree: false,
        full_text: None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_of_columns_that_are_there() {
        let databases = crate::databases().unwrap();
        let tables = databases.iter().flat_map(|database| database.tables.values());
        let found: usize = tables.map(|table| all_indexes(table).len()).sum();
        let written = OF_SYSTEM_TABLES.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(found, written.count());
    }
}
