//! `SELECT MIN(a)` and `SELECT MAX(a)` where an index is ordered by `a`: one row from its end, not all of
//! them.

use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction};
use functions::bind::call;
use planner::logical::{ColumnId, Get, Logical};
use planner::plan::{Rel, Route};
use types::Result;

use super::builder::{Builder, Built, Want};
use super::scan::{self, offsets, over_offsets};
use crate::Rule;
use crate::access::{self, RowLimit};
use crate::constant::Gate;
use crate::expr::bare_column;
use crate::limit::unsigned;

/// The only aggregate of a query without groups, if it is the smallest or the greatest value of a column.
pub struct Extreme {
    pub column: ColumnId,
    pub greatest: bool,
}

impl Extreme {
    pub fn of(call: &AggregateCall) -> Option<Self> {
        let greatest = match call.function {
            AggregateFunction::Min => false,
            AggregateFunction::Max => true,
            _ => return None,
        };
        let [arg] = call.args.as_slice() else {
            return None;
        };
        Some(Self {
            column: bare_column(arg)?,
            greatest,
        })
    }
}

/// The one row if an index makes it possible, otherwise all rows.
pub fn build(builder: &Builder<'_>, input: Logical, extreme: &Extreme, want: &Want) -> Result<Built> {
    let found = match &input {
        Logical::Get(get) => Some((get, None)),
        Logical::Filter { input, predicate } => match &**input {
            Logical::Get(get) => Some((get, Some(predicate))),
            _ => None,
        },
        _ => None,
    };
    let Some((get, filter)) = found else {
        return builder.build(input, want);
    };
    match one_row(builder, get, filter, extreme, want)? {
        Some(built) => Ok(built),
        None => builder.build(input, want),
    }
}

fn one_row(
    builder: &Builder<'_>,
    get: &Get,
    filter: Option<&Expr>,
    extreme: &Extreme,
    want: &Want,
) -> Result<Option<Built>> {
    let gate = Gate::of(filter);
    let Some(column) = get.offset(extreme.column) else {
        return Ok(None);
    };
    if gate.closed
        || !gate.constant.is_empty()
        || get.locking.is_some()
        || get.table.is_virtual()
        || builder.route.get() == Some(Route::Analytical)
        || !builder.env.applies(Rule::Extreme)
    {
        return Ok(None);
    }
    let mut conjuncts = gate.conjuncts;
    // NULLs come first, and MIN ignores them.
    let definition = &get.table.columns[column];
    if definition.nullable {
        let column = Expr::column(extreme.column.0, definition.ty, true);
        conjuncts.push(call("is not null", vec![column], builder.env.types)?);
    }
    let ordered = Want {
        order: vec![(extreme.column, extreme.greatest)],
        limit: RowLimit::AtMost(1),
        ..want.clone()
    };
    let conjuncts = over_offsets(conjuncts, get);
    let mut chosen = access::choose(&scan::request(
        builder,
        get,
        &ordered,
        conjuncts,
        &offsets(get, &want.columns),
    ))?;
    if !chosen.ordered || !chosen.residual.is_empty() {
        return Ok(None);
    }
    builder.note_keys(&get.alias, std::mem::take(&mut chosen.possible_keys));
    let mut built = scan::of_path(builder, get, &ordered, chosen, Vec::new(), false)?;
    built.rel = Rel::Limit {
        input: Box::new(built.rel),
        offset: None,
        count: Some(unsigned(1)),
    };
    built.rows = 1.0;
    Ok(Some(built))
}
