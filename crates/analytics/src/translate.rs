//! Our operators to DataFusion's.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Column;
use functions::{EvalContext, Expr};
use planner::plan::{Rel, SortKey};
use types::{Error, Value};

use crate::columns::column_name;
use crate::error::carry;
use crate::limits::BatchSize;
use crate::operators::{self, Plan, Translated};
use crate::{Source, aggregate, expression, grouping_key, scan};

/// More rows than any table has; the sum of a LIMIT and an OFFSET does not overflow.
const ROWS_MAX: usize = 1 << 62;

/// Translates a plan. Its rows come in any number of partitions.
pub fn translate(rel: &Rel, source: &Source, eval: &Arc<EvalContext>, batches: BatchSize) -> Result<Plan> {
    let translator = Translator {
        source,
        eval,
        batches,
    };
    Ok(translator.rel(rel, false)?.plan)
}

struct Translator<'a> {
    source: &'a Source,
    eval: &'a Arc<EvalContext>,
    batches: BatchSize,
}

impl Translator<'_> {
    /// `positions`: a column of positions is wanted. The result has it if the operators below keep the order
    /// of the scan.
    fn rel(&self, rel: &Rel, positions: bool) -> Result<Translated> {
        let unordered = |plan| Translated {
            plan,
            positions: false,
        };
        match rel {
            Rel::Scan(scan) => {
                let plan = scan::scan(scan, positions, self.source, self.batches.bytes, self.eval)?;
                Ok(Translated { plan, positions })
            }
            Rel::Filter { input, predicate } => {
                let input = self.rel(input, positions)?;
                let condition = expression::predicate(predicate, &input.columns(), self.eval)?;
                let plan = operators::filter(input.plan, condition, self.batches.rows)?;
                Ok(Translated { plan, ..input })
            }
            Rel::Project { input, exprs } => self.project(self.rel(input, positions)?, exprs),
            Rel::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                let positions = aggregate::takes_positions(keys, aggregates);
                let input = self.rel(input, positions)?;
                Ok(unordered(aggregate::over(input, keys, aggregates, self.eval)?))
            }
            Rel::Distinct { input } => Ok(unordered(self.distinct(input)?)),
            Rel::Sort { input, keys, limit } => Ok(unordered(self.sort(
                self.rel(input, false)?,
                keys,
                limit.as_ref(),
            )?)),
            Rel::Limit { input, offset, count } => {
                let skip = self.row_count(offset.as_ref())?.unwrap_or(0);
                let fetch = self.row_count(count.as_ref())?.filter(|&n| n < ROWS_MAX);
                if skip == 0 && fetch.is_none() {
                    return self.rel(input, positions);
                }
                let input = self.rel(input, false)?;
                Ok(unordered(operators::limit(input.plan, skip, fetch)?))
            }
            Rel::OneRow
            | Rel::Virtual(_)
            | Rel::Repeat { .. }
            | Rel::Values { .. }
            | Rel::Join(_)
            | Rel::LookupJoin(_)
            | Rel::Apply(_)
            | Rel::Window { .. }
            | Rel::SetOperation { .. }
            | Rel::With { .. }
            | Rel::Recursive { .. }
            | Rel::CommonTable { .. } => Err(not_here()),
        }
    }

    fn project(&self, input: Translated, exprs: &[Expr]) -> Result<Translated> {
        let inputs = input.columns();
        let mut columns = Vec::with_capacity(exprs.len() + 1);
        for expr in exprs {
            columns.push(expression::value(expr, &inputs, self.eval)?);
        }
        if input.positions {
            columns.extend(inputs.last().cloned());
        }
        let plan = operators::project(input.plan, columns)?;
        Ok(Translated { plan, ..input })
    }

    /// Rows are distinct if their columns' keys are: DISTINCT is a grouping by all columns without
    /// aggregates.
    fn distinct(&self, input: &Rel) -> Result<Plan> {
        let column = |(index, ty)| Expr::column(index, ty, true);
        let keys: Vec<Expr> = input.output_types().into_iter().enumerate().map(column).collect();
        {
            let positions = aggregate::takes_positions(&keys, &[]);
            aggregate::over(self.rel(input, positions)?, &keys, &[], self.eval)
        }
    }

    /// Computed keys become columns first: a sort computes its keys more than once, and counts only the
    /// memory of its columns. A sort with a limit drops most rows at once, so there they need not.
    fn sort(&self, input: Translated, keys: &[SortKey], limit: Option<&Expr>) -> Result<Plan> {
        let fetch = self.row_count(limit)?.filter(|&n| n < ROWS_MAX);
        let inputs = input.columns();
        let mut keyed = inputs.clone();
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let value = expression::value(&key.expr, &inputs, self.eval)?;
            let form = grouping_key::order(value, &key.expr.ty());
            let stays = form.downcast_ref::<Column>().is_some()
                || (fetch.is_some() && matches!(key.expr, Expr::Column { .. }));
            let by: PhysicalExprRef = if stays {
                form
            } else {
                keyed.push(form);
                let index = keyed.len() - 1;
                Arc::new(Column::new(&column_name(index), index))
            };
            order.push((by, key.descending));
        }
        let added = keyed.len() > inputs.len();
        let rows = match added {
            true => operators::project(input.plan, keyed)?,
            false => input.plan,
        };
        let sorted = operators::sort(rows, order, fetch)?;
        match added {
            true => operators::project(sorted, inputs),
            false => Ok(sorted),
        }
    }

    /// The value of a LIMIT or OFFSET, at most [`ROWS_MAX`].
    fn row_count(&self, expr: Option<&Expr>) -> Result<Option<usize>> {
        let Some(expr) = expr else { return Ok(None) };
        match functions::eval_value(expr, self.eval).map_err(carry)? {
            Value::UInt(n) => Ok(Some(usize::try_from(n).unwrap_or(ROWS_MAX).min(ROWS_MAX))),
            Value::Int(n) if n >= 0 => Ok(Some((n as usize).min(ROWS_MAX))),
            other => Err(carry(Error::internal(format_args!("LIMIT of {other:?}")))),
        }
    }
}

fn not_here() -> datafusion_common::DataFusionError {
    carry(Error::internal(
        "an operator that only the executor has was sent to analytics",
    ))
}
