//! How an ALTER TABLE rewrites rows: their handles, and the settings for the conversion of values.

use cluster::ids::align;
use schema::model::{Handle, Table};
use schema::shadow::{Conversion, ShadowHandles};

use crate::altered::Altered;
use crate::context::DdlContext;
use crate::primary_key::keeps_handles;

/// The conversion of the rows of `base` by an ALTER TABLE that rewrites them. If the conversion needs an
/// index, the new definition gets an id for it.
pub(crate) fn conversion(base: &Table, altered: &mut Altered, ctx: &DdlContext) -> Option<Conversion> {
    let rewrite = altered.rewrite?;
    let after = &mut altered.table;
    let is_new = |id: i64| {
        base.columns
            .iter()
            .all(|column| column.id != id || !column.auto_increment)
    };
    let gives_ids_to = after
        .auto_increment_column()
        .filter(|&at| is_new(after.columns[at].id));
    // A 0 in the primary key gets an id.
    let numbers_keys = gives_ids_to.is_some_and(|column| {
        let mut parts = after.primary_parts().into_iter();
        !ctx.sql_mode.no_auto_value_on_zero && parts.any(|part| part.column == column)
    });
    let keeps = keeps_handles(base, after, &altered.recomputed) && !rewrite.regroups && !numbers_keys;
    let handles = if keeps {
        ShadowHandles::Same
    } else {
        after.max_index_id += 1;
        let (index, place) = (after.max_index_id, 0);
        match after.handle {
            Handle::Hidden => ShadowHandles::NewIds { index, place },
            _ => ShadowHandles::ByKey { index, place },
        }
    };
    let id_steps = Some(ctx.auto_increment).filter(|steps| *steps != (1, 1));
    Some(Conversion {
        first_id: gives_ids_to.map(|column| {
            let first = altered.auto_increment.unwrap_or(1);
            let is_added = after.columns[column].id > base.max_column_id;
            match id_steps {
                Some(steps) if is_added && !rewrite.copies => first_in_place(first, steps),
                _ => first,
            }
        }),
        id_steps,
        sql_mode: ctx.sql_mode,
        time_zone: ctx.time_zone.name(),
        now_us: ctx.now_us,
        checks: altered.new_checks.clone(),
        validates: rewrite.copies || altered.adds_checks || altered.checks_new_keys(),
        handles,
        drops_misplaced: altered.drops_misplaced,
    })
}

/// The first id that InnoDB gives when it adds an AUTO_INCREMENT column in place: one after `start`, or the second of the
/// series if that has not begun.
fn first_in_place(start: u64, (increment, offset): (u64, u64)) -> u64 {
    match start > offset {
        true => align(start.saturating_add(1), increment, offset),
        false => offset.saturating_add(increment),
    }
}
