//! The aggregate functions: one implementation, called by both executors.
//!
//! - [`AggregateCall`]: one call in a query, bound.
//! - [`MergeableAggregate`]: COUNT, SUM, MIN, MAX and ANY_VALUE of many groups, in parts that are merged. Its
//!   inner loops ([`RowGroups`]) run over typed arrays. `analytics` passes it to DataFusion, one for each
//!   thread, and computes AVG from SUM and COUNT with [`average_of`].
//! - [`GroupedAccumulator`], [`Accumulator`]: every function, for many groups and for one, in one part. The
//!   transactional executor calls these. GROUP_CONCAT, the aggregates that make JSON ([`collect`]) and the
//!   variances depend on the order of the rows, so they run only here; so do the bit functions.
//!
//! Not here: which rows belong to which group. Both executors group by the comparable forms of
//! [`crate::comparable`].

mod binary_bits;
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
use crate::bind::env::TypeEnv;
use crate::datum::Datum;
use crate::datum::{to_decimal, to_double};
use crate::expr::{Call, FunctionDef, Nullability};
use crate::quotient::cut_quotient;
use crate::registry::{self, Family, function};

pub use call::{AggregateCall, AggregateFunction};
pub use collect::Concat;
pub use grouped::GroupedAccumulator;
pub use groups::RowGroups;
pub use mergeable::{MergeableAggregate, MergeableFunction};
pub use single::Accumulator;

/// Binds an aggregate by its name in lower case: `count` (no argument means `COUNT(*)`), `sum` and so on.
/// GROUP_CONCAT has [`bind_group_concat`].
pub fn bind(name: &str, args: Vec<Expr>, distinct: bool, env: &TypeEnv) -> Result<AggregateCall> {
    let function = AggregateFunction::from_name(name).ok_or_else(|| {
        Error::not_supported(
            format!("{}()", name.to_uppercase()),
            "compute it in the application",
        )
    })?;
    AggregateCall::bind(function, args, distinct, env)
}

/// Binds `GROUP_CONCAT(args ORDER BY order SEPARATOR separator)`; `true` in `order` stands for descending.
pub fn bind_group_concat(
    args: Vec<Expr>,
    distinct: bool,
    order: Vec<(Expr, bool)>,
    separator: String,
    env: &TypeEnv,
) -> Result<AggregateCall> {
    AggregateCall::bind_concat(args, distinct, order, separator, env)
}

/// The value of a call in the query above the aggregation. `column` is the call's output.
pub fn result(column: Expr, call: &AggregateCall) -> Expr {
    in_type(column, call.shown)
}

/// A sum or a quotient in another DECIMAL type that can hold it. A cast would cut the value to 65 digits, but
/// MySQL's sums may have more, and show them.
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

/// AVG of a SUM and a COUNT that were computed separately: an expression of type `ty`, the AVG's
/// [`AggregateCall::ty`]. `sum` has the type of a SUM of AVG's argument.
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
pub(crate) fn average_value(sum: &Datum<'_>, count: i64, ty: &SqlType) -> Option<Value> {
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
