//! Which query a call of an aggregate function belongs to.

use functions::aggregate::{AggregateCall, AggregateFunction};
use functions::bind;
use functions::coercibility::Strength;
use types::{Error, Result, errno};

use super::context::{Aggregates, Context};
use crate::logical::{ColumnId, columns_of};

/// The coercibility of an aggregate's collation; `None`: that of a table's column.
pub(super) fn strength_of(call: &AggregateCall) -> Option<Strength> {
    let of_arguments = bind::strength_of(&call.args);
    match call.function {
        AggregateFunction::AnyValue => Some(of_arguments),
        AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::GroupConcat => {
            Some(of_arguments.of_aggregate())
        }
        _ => None,
    }
}

/// What `bind` makes of the arguments of an aggregate, and the place of the call. Its arguments may name select items of a
/// query around by their aliases, which are no columns of that query: then the aggregate is none of that query's.
pub(super) fn bound_arguments<'c, T>(
    context: &Context<'c>,
    bind: impl Fn(&Context<'c>) -> Result<T>,
) -> Result<(T, Context<'c>)> {
    let inside = context.inside_aggregate();
    let unknown = match bind(&inside) {
        Err(error) if error.code == errno::ER_BAD_FIELD_ERROR && context.outer.is_some() => error,
        bound => return Ok((bound?, *context)),
    };
    let by_alias = Context {
        names: context.names,
        ..inside
    };
    match bind(&by_alias) {
        Err(error) if error.code == errno::ER_BAD_FIELD_ERROR => Err(unknown),
        bound => Ok((
            bound?,
            Context {
                outer: None,
                ..*context
            },
        )),
    }
}

/// The aggregates of the query that a call belongs to: the query whose columns it names, at any distance. If
/// aggregates are not allowed there, the last query on the way to it where they are. COUNT(*) names no column: it
/// belongs to the next query where aggregates are allowed.
pub(super) fn home_of<'c>(call: &AggregateCall, context: &'c Context<'_>) -> Option<&'c Aggregates> {
    let mut home = context.aggregates;
    let mut place = context;
    let is_about_none = {
        let mut names_any = false;
        call.expressions(&mut |arg| names_any |= !columns_of(arg).is_empty());
        !names_any
    };
    while let Some(outer) = place
        .outer
        .filter(|_| is_about_outer(call, place.first_own) || (is_about_none && home.is_none()))
    {
        if outer.is_argument && !is_about_outer(call, outer.first_own) {
            return None;
        }
        home = outer.aggregates.or(home);
        place = outer;
    }
    home
}

/// Whether the arguments name columns, and all of them are those of queries around.
fn is_about_outer(call: &AggregateCall, first_own: ColumnId) -> bool {
    let mut names_any = false;
    let mut names_own = false;
    call.expressions(&mut |arg| {
        for id in columns_of(arg) {
            names_any = true;
            names_own |= id >= first_own;
        }
    });
    names_any && !names_own
}

pub(super) fn unknown_position(position: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{position}' in 'order clause'"),
    )
}
