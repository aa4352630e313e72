//! `SELECT MIN(a)` and `SELECT MAX(a)` where an index is ordered by `a`: one row from its end, not all of
//! them.

use functions::Expr;
use functions::aggregate::AggregateFunction;
use types::Result;

use super::columns::Columns;
use super::source::Source;
use super::{ONLY_ROUTE, Upper};
use crate::access::{self, Request, RowLimit};
use crate::bind::{Binder, BoundSelect, TableBinding, unsigned};
use crate::plan::{Rel, Route};

/// The column of the query's only aggregate, and whether its greatest value is wanted.
pub fn is_extreme(select: &BoundSelect<'_>, upper: &Upper) -> Option<(usize, bool)> {
    let [call] = upper.aggregates.as_slice() else {
        return None;
    };
    if !select.grouped || !select.keys.is_empty() {
        return None;
    }
    let greatest = match call.function {
        AggregateFunction::Min => false,
        AggregateFunction::Max => true,
        _ => return None,
    };
    match call.args.as_slice() {
        [Expr::Column { index, .. }] => Some((*index, greatest)),
        _ => None,
    }
}

impl Binder<'_> {
    /// The scan of the one row, where an index makes it possible.
    pub(super) fn extreme(
        &self,
        select: &BoundSelect<'_>,
        upper: &Upper,
        table: &TableBinding,
        request: &mut Request<'_>,
        constant: &[Expr],
        closed: bool,
    ) -> Result<Option<Source>> {
        let Some((column, greatest)) = is_extreme(select, upper) else {
            return Ok(None);
        };
        if closed
            || !constant.is_empty()
            || select.locking.is_some()
            || self.env.route == Some(Route::Analytical)
        {
            return Ok(None);
        }
        let mut conjuncts = request.conjuncts.clone();
        // NULLs come first, and MIN ignores them.
        if table.table.columns[column].nullable {
            conjuncts.push(self.call("is not null", vec![table.column(column)])?);
        }
        let attempt = Request {
            conjuncts,
            order: vec![(column, greatest)],
            limit: RowLimit::AtMost(1),
            ..*request
        };
        let mut chosen = access::choose(&attempt)?;
        if !chosen.ordered || !chosen.residual.is_empty() {
            return Ok(None);
        }
        self.possible_keys
            .replace(std::mem::take(&mut chosen.possible_keys));
        let mut source = self.scan(
            table,
            Columns::of(select, upper, false),
            chosen,
            Vec::new(),
            false,
            ONLY_ROUTE,
        )?;
        source.rel = Rel::Limit {
            input: Box::new(source.rel),
            offset: None,
            count: Some(unsigned(1)),
        };
        Ok(Some(source))
    }
}
