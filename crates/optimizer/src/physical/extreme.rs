//! `SELECT MIN(a)` and `SELECT MAX(a)` where an index is ordered by `a`: one row from its end, not all of
//! them.

use functions::Expr;
use functions::bind::call;
use planner::logical::{Get, Logical};
use planner::plan::{Rel, Route};
use types::Result;

use super::aggregate::Extreme;
use super::{Builder, Built, Want};
use crate::access::{self, RowLimit};
use crate::constant::Gate;
use crate::limit::unsigned;

impl Builder<'_> {
    /// The one row if an index makes it possible, otherwise all rows.
    pub(super) fn extreme_or_all(&self, input: Logical, extreme: &Extreme, want: &Want) -> Result<Built> {
        let found = match &input {
            Logical::Get(get) => Some((get, None)),
            Logical::Filter { input, predicate } => match &**input {
                Logical::Get(get) => Some((get, Some(predicate))),
                _ => None,
            },
            _ => None,
        };
        let Some((get, filter)) = found else {
            return self.build(input, want);
        };
        match self.extreme(get, filter, extreme, want)? {
            Some(built) => Ok(built),
            None => self.build(input, want),
        }
    }

    fn extreme(
        &self,
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
            || self.route.get() == Some(Route::Analytical)
        {
            return Ok(None);
        }
        let mut conjuncts = gate.conjuncts;
        // NULLs come first, and MIN ignores them.
        let definition = &get.table.columns[column];
        if definition.nullable {
            let column = Expr::column(extreme.column.0, definition.ty, true);
            conjuncts.push(call("is not null", vec![column], self.env.types)?);
        }
        let ordered = Want {
            order: vec![(extreme.column, extreme.greatest)],
            limit: RowLimit::AtMost(1),
            ..want.clone()
        };
        let conjuncts = super::scan::over_offsets(conjuncts, get);
        let mut chosen = access::choose(&self.request(
            get,
            &ordered,
            conjuncts,
            &super::scan::offsets(get, &want.columns),
        ))?;
        if !chosen.ordered || !chosen.residual.is_empty() {
            return Ok(None);
        }
        self.note_keys(&get.alias, std::mem::take(&mut chosen.possible_keys));
        let mut built = self.scan(get, &ordered, chosen, Vec::new(), false)?;
        built.rel = Rel::Limit {
            input: Box::new(built.rel),
            offset: None,
            count: Some(unsigned(1)),
        };
        built.rows = 1.0;
        Ok(Some(built))
    }
}
