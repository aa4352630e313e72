//! Adds, drops and changes the primary key, under which rows are stored.
//!
//! While an ALTER TABLE is planned, the primary key is an index like all others. This includes an integer
//! primary key, which is the row's key and has no index.

use schema::model::{Handle, IndexPart, Table};
use types::{Error, Result, TypeKind};

use crate::modify::keeps_values;
use crate::rewrite::Rewrite;

/// Makes the primary key the handle.
///
/// # Errors
/// 3106 for a virtual column in it.
pub(crate) fn choose_handle(table: &mut Table) -> Result<()> {
    table.options.set_primary("", false, false);
    let Some(at) = table.indexes.iter().position(|index| index.primary) else {
        table.handle = Handle::Hidden;
        return Ok(());
    };
    let parts = &table.indexes[at].parts;
    let columns = parts.iter().filter_map(|part| table.columns.get(part.column));
    if columns.into_iter().any(|column| column.is_virtual()) {
        return Err(Error::new(
            3106,
            "'Defining a virtual generated column as primary key' is not supported for generated columns.",
        ));
    }
    if let [part] = parts.as_slice()
        && part.prefix.is_none()
        && is_handle(table, part.column)
    {
        let column = part.column;
        let primary = table.indexes.remove(at);
        table.set_integer_key(column, &primary);
        return Ok(());
    }
    if table.indexes[at].id == 0 {
        table.max_index_id += 1;
        table.indexes[at].id = table.max_index_id;
    }
    table.handle = Handle::Clustered { index: at };
    Ok(())
}

/// Whether the column's values can be keys of rows, which are signed integers.
fn is_handle(table: &Table, column: usize) -> bool {
    table.columns.get(column).is_some_and(|column| {
        let ty = &column.ty;
        ty.is_integer()
            && !matches!(ty.kind, TypeKind::Year | TypeKind::Bit)
            && !(ty.kind == TypeKind::BigInt && ty.unsigned)
    })
}

/// The reason to rewrite the rows, if their keys change. `recomputed`: as of [`keeps_handles`].
pub(crate) fn moves_rows(before: &Table, after: &Table, recomputed: &[i64]) -> Option<Rewrite> {
    if keeps_handles(before, after, recomputed) {
        return None;
    }
    Some(match after.handle {
        Handle::Hidden => Rewrite::NO_PRIMARY_KEY,
        _ => Rewrite::IN_PLACE,
    })
}

/// Whether each row has the same handle in both definitions of a table. `recomputed`: the ids of stored columns whose
/// expressions give other values.
pub(crate) fn keeps_handles(before: &Table, after: &Table, recomputed: &[i64]) -> bool {
    let stays = |a: usize, b: usize| {
        let columns = before.columns.get(a).zip(after.columns.get(b));
        columns.is_some_and(|(a, b)| a.id == b.id && keeps_values(a, b) && !recomputed.contains(&a.id))
    };
    match (before.handle, after.handle) {
        (Handle::Hidden, Handle::Hidden) => true,
        (Handle::Integer { column: a }, Handle::Integer { column: b }) => stays(a, b),
        (Handle::Clustered { .. }, Handle::Clustered { .. }) => {
            let (a, b) = (before.primary_parts(), after.primary_parts());
            let part_stays = |(a, b): (&IndexPart, &IndexPart)| {
                let same_form = *b
                    == IndexPart {
                        column: b.column,
                        ..*a
                    };
                same_form && stays(a.column, b.column)
            };
            a.len() == b.len() && a.iter().zip(&b).all(part_stays)
        }
        _ => false,
    }
}
