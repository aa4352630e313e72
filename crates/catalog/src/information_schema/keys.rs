//! STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS.

use schema::model::{Handle, Index, IndexPart, SchemaState, Table};
use types::Value;

use super::{CATALOG, Context, Row, number, signed, text};

/// All indexes as MySQL shows them: the primary key first, where the rows' keys are one too.
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
        }),
        Handle::Clustered { .. } | Handle::Hidden => None,
    };
    handle
        .into_iter()
        .chain(table.public_indexes().cloned())
        .collect()
}

/// Calls `make` for each part of each index: the index, the part, its number from 1.
fn each_part(
    ctx: &Context,
    mut make: impl FnMut(&Table, &Index, &IndexPart, u64) -> Option<Row>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for (_, table) in ctx.tables() {
        for index in all_indexes(table) {
            for (number, part) in (1..).zip(&index.parts) {
                rows.extend(make(table, &index, part, number));
            }
        }
    }
    rows
}

pub(super) fn statistics(ctx: &Context) -> Vec<Row> {
    each_part(ctx, |table, index, part, sequence| {
        let column = table.columns.get(part.column)?;
        // All parts of a unique index tell rows apart; of anything else nothing is known.
        let is_told = ctx.wants(9..10) && index.unique && sequence as usize == index.parts.len();
        let cardinality = if is_told {
            i64::try_from(ctx.catalog.row_estimate(table.id, ctx.surroundings.interrupt()))
                .map_or(Value::Null, signed)
        } else {
            Value::Null
        };
        Some(vec![
            text(CATALOG),
            text(&table.database),
            text(&table.name),
            signed(i64::from(!index.unique)),
            text(&table.database),
            text(&index.name),
            number(sequence),
            text(&column.name),
            text(if part.descending { "D" } else { "A" }),
            cardinality,
            part.prefix.map_or(Value::Null, |p| signed(i64::from(p))),
            Value::Null,
            text(if column.nullable { "YES" } else { "" }),
            text("BTREE"),
            text(""),
            text(&index.comment),
            text("YES"),
            Value::Null,
        ])
    })
}

pub(super) fn key_column_usage(ctx: &Context) -> Vec<Row> {
    each_part(ctx, |table, index, part, sequence| {
        let column = table.columns.get(part.column)?;
        index.unique.then(|| {
            vec![
                text(CATALOG),
                text(&table.database),
                text(&index.name),
                text(CATALOG),
                text(&table.database),
                text(&table.name),
                text(&column.name),
                number(sequence),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
            ]
        })
    })
}

pub(super) fn table_constraints(ctx: &Context) -> Vec<Row> {
    each_part(ctx, |table, index, _, sequence| {
        (index.unique && sequence == 1).then(|| {
            vec![
                text(CATALOG),
                text(&table.database),
                text(&index.name),
                text(&table.database),
                text(&table.name),
                text(if index.primary { "PRIMARY KEY" } else { "UNIQUE" }),
                text("YES"),
            ]
        })
    })
}
