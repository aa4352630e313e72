//! How an ALTER TABLE rewrites rows: their handles, and the settings for the conversion of values.

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
    // Partitions that were exchanged with tables can have rows with the same hidden ids.
    let mixes = rewrite.closed && base.partitioning.is_some() && base.handle == Handle::Hidden;
    let handles = if keeps_handles(base, after, &altered.recomputed) && !mixes {
        ShadowHandles::Same
    } else if after.handle == Handle::Hidden {
        ShadowHandles::New
    } else {
        after.max_index_id += 1;
        ShadowHandles::ByKey {
            index: after.max_index_id,
            place: 0,
        }
    };
    let is_new = |id: i64| {
        base.columns
            .iter()
            .all(|column| column.id != id || !column.auto_increment)
    };
    let gives_ids = after
        .auto_increment_column()
        .is_some_and(|at| is_new(after.columns[at].id));
    Some(Conversion {
        first_id: gives_ids.then(|| altered.auto_increment.unwrap_or(1)),
        sql_mode: ctx.sql_mode,
        time_zone: ctx.time_zone.name(),
        now_us: ctx.now_us,
        checks: altered.new_checks.clone(),
        validates: rewrite.copies,
        handles,
        drops_misplaced: altered.drops_misplaced,
    })
}
