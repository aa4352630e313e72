//! The aggregate functions: one implementation, called by both executors.
//!
//! - [`AggregateCall`]: one call in a query, bound.
//! - [`MergeableAggregate`]: COUNT, SUM, MIN, MAX and ANY_VALUE of many groups, in parts that are merged. Its inner loops
//!   ([`RowGroups`]) run over typed arrays. `analytics` gives it to DataFusion, one for each thread, and makes AVG of SUM
//!   and COUNT with [`average_of`].
//! - [`GroupedAccumulator`], [`Accumulator`]: every function, for many groups and for one, in one part: what the
//!   transactional executor calls. GROUP_CONCAT and the aggregates that make JSON ([`collect`]), the variances and the bits
//!   are only here: their results depend on the order in which rows come, or no query has been slow for want of threads.
//!
//! Not here: which rows belong to which group. Both executors group by [`crate::comparable`]'s forms.

mod bits;
mod call;
mod collect;
mod count;
mod distinct;
mod extreme;
mod grouped;
mod groups;
mod mergeable;
mod single;
mod sum;
mod variance;

use types::{Decimal, Error, Result, SqlType, TypeKind, Value};

use crate::Expr;
use crate::bind::compare::resolve_converted;
use crate::datum::Datum;
use crate::eval::Call;
use crate::ops::arithmetic::cut_quotient;
use crate::ops::comparison::{to_decimal, to_double};
use crate::registry::{self, Family, FunctionDef, Nullability, function};

pub use call::{AggregateCall, AggregateFunction};
pub use collect::Concat;
pub use grouped::GroupedAccumulator;
pub use groups::RowGroups;
pub use mergeable::{MergeableAggregate, MergeableFunction};
pub use single::Accumulator;

/// The value of a call in the query above the aggregation, of which `column` is the call's output.
pub fn result(column: Expr, call: &AggregateCall) -> Expr {
    in_type(column, call.shown)
}

/// A sum or a quotient in another DECIMAL type that has room for it. Not a cast, which would cut what goes beyond 65
/// digits: MySQL's sums do, and show it.
pub fn in_type(value: Expr, ty: SqlType) -> Expr {
    match registry::find("aggregate result") {
        Some(function) if value.ty() != ty => Expr::Call {
            function,
            args: vec![value],
            ty,
        },
        _ => value,
    }
}

/// AVG of a SUM and a COUNT that were computed apart: an expression of type `ty`, the AVG's [`AggregateCall::ty`]. `sum` is
/// of the type that SUM over AVG's argument has.
pub fn average_of(sum: Expr, count: Expr, ty: &SqlType) -> Result<Expr> {
    let function = registry::find("average").ok_or_else(|| Error::internal("no function average"))?;
    Ok(Expr::Call {
        function,
        args: vec![sum, count],
        ty: *ty,
    })
}

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("average", 2, 2, resolve_converted, average).nullability(Nullability::Always),
    function("aggregate result", 1, 1, resolve_converted, |_, args| {
        Ok(args.first().map_or(Value::Null, |d| d.to_value()))
    })
    .infallible()
    .vector(|_, args, _| Ok(args.first().cloned())),
];

fn average(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [sum, count] = args else {
        return Ok(Value::Null);
    };
    average_value(sum, count.int(), &call.ty).ok_or_else(|| call.out_of_range("DECIMAL"))
}

/// `sum / count`; NULL for no rows. `None` if it has too many digits.
fn average_value(sum: &Datum<'_>, count: i64, ty: &SqlType) -> Option<Value> {
    if count == 0 || sum.is_null() {
        return Some(Value::Null);
    }
    if ty.kind == TypeKind::Double {
        return Some(Value::Double(to_double(sum) / count as f64));
    }
    cut_quotient(&to_decimal(sum), &Decimal::from_i64(count), ty.decimals).map(Value::Decimal)
}

#[cfg(test)]
mod tests;
