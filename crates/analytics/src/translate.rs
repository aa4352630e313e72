//! Translates our operators to DataFusion's.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal};
use executor::PushedRows;
use functions::{EvalContext, Expr};
use planner::logical::SetOperator;
use planner::plan::{Join, Rel, SortKey};
use types::{Error, Value};

use crate::columns::column_name;
use crate::error::carry;
use crate::limits::{BatchSize, Spilling};
use crate::operators::{self, Plan, Translated};
use crate::running::Running;
use crate::scan_filter::{Observed, ScanFilters};
use crate::subquery_values::SubqueryValues;
use crate::{Source, aggregate, expression, grouping_key, join, metrics, pipeline, pushed, scan};

/// More rows than any table has. The sum of a LIMIT and an OFFSET does not overflow.
const ROWS_MAX: usize = 1 << 62;

/// In a position, the bit that says from which input of the outermost set operation a row comes: the rows of
/// the second input follow those of the first.
const FIRST_INPUT_BIT: u32 = 62;
/// How many nested set operations have such a bit. Further ones have no positions.
const INPUT_BITS: u32 = 8;

/// Translates a plan. Its rows come in any number of partitions.
pub fn translate(rel: &Rel, running: &Running<'_>, subqueries: &SubqueryValues) -> Result<Plan> {
    let translator = Translator {
        source: running.source,
        eval: running.eval,
        batches: running.batches,
        spilling: running.spilling,
        subqueries,
        inside: Cell::new(0),
        filters: ScanFilters::default(),
    };
    Ok(translator.rel(rel, false)?.plan)
}

struct Translator<'a> {
    source: &'a Source,
    eval: &'a Arc<EvalContext>,
    batches: BatchSize,
    spilling: Spilling,
    subqueries: &'a SubqueryValues,
    /// How many set operations enclose the operator.
    inside: Cell<u32>,
    /// What operators above scans want from them.
    filters: ScanFilters,
}

impl Translator<'_> {
    /// `positions`: a column of positions is wanted. The result has one if the operators below keep the
    /// scan's order.
    fn rel(&self, rel: &Rel, positions: bool) -> Result<Translated> {
        let unordered = |plan| Translated {
            plan,
            positions: false,
            whole_groups: false,
        };
        if let Some(cut) = pipeline::cut(rel, self.spilling.partitions()) {
            let input = self.rel(cut.input, positions)?;
            return pipeline::over(rel, cut, input, self.source, self.eval);
        }
        match rel {
            Rel::Scan(scan) => scan::scan(
                scan,
                positions,
                self.source,
                (self.spilling.partitions(), self.batches.bytes),
                self.eval,
                self.filters.take(scan),
            ),
            Rel::Measured { input, measure } => {
                let input = self.rel(input, positions)?;
                let plan = Arc::clone(&input.plan);
                measure.take_from(move || metrics::of(plan.as_ref()));
                Ok(input)
            }
            Rel::Pushed { input } => self.pushed(input, positions),
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
                self.filters.group(input, keys);
                let input = self.rel(input, positions)?;
                Ok(unordered(aggregate::grouped(input, keys, aggregates, self.eval)?))
            }
            Rel::Distinct { input } => Ok(unordered(self.distinct(input)?)),
            Rel::Join(join) => self.join(join, positions),
            Rel::Apply(apply) => {
                let values = self.subqueries.of(apply)?;
                self.with_columns(self.rel(&apply.input, positions)?, values)
            }
            Rel::SetOperation {
                operator: SetOperator::Union,
                all,
                left,
                right,
            } => self.union(*all, left, right, positions),
            Rel::Sort { input, keys, limit } => Ok(unordered(self.sort(input, keys, limit.as_ref())?)),
            Rel::Limit { input, offset, count } => {
                let skip = self.row_count(offset.as_ref())?.unwrap_or(0);
                match self.row_count(count.as_ref())?.filter(|&n| n < ROWS_MAX) {
                    None if skip == 0 => self.rel(input, positions),
                    fetch => {
                        let input = self.rel(input, false)?;
                        Ok(unordered(operators::limit(input.plan, skip, fetch)?))
                    }
                }
            }
            Rel::OneRow
            | Rel::Virtual(_)
            | Rel::Repeat { .. }
            | Rel::Values { .. }
            | Rel::JsonTable(_)
            | Rel::LookupJoin(_)
            | Rel::Window { .. }
            | Rel::SetOperation { .. }
            | Rel::With { .. }
            | Rel::Recursive { .. }
            | Rel::CommonTable { .. } => Err(not_here()),
        }
    }

    /// Rows that the stores compute, if they can.
    fn pushed(&self, input: &Rel, positions: bool) -> Result<Translated> {
        let (source, rel) = (self.source, Cow::Owned(Rel::clone(input)));
        let memory_bytes = source.limits.memory_bytes;
        let rows = PushedRows::open(rel, &source.snapshot, memory_bytes, self.eval).map_err(carry)?;
        match rows {
            Some(rows) => pushed::scan(rows, input.output_types(), positions, source, self.eval),
            None => self.rel(input, positions),
        }
    }

    fn join(&self, join: &Join, positions: bool) -> Result<Translated> {
        let spills = self
            .spilling
            .spills(join.right_rows, self.source.limits.memory_bytes);
        let filters = match spills {
            // A join that spills reads both sides at the same time.
            true => Vec::new(),
            false => self.filters.make(join),
        };
        let left = self.rel(&join.left, positions)?;
        let right = self.rel(&join.right, false)?;
        let spilling = spills.then(|| self.spilling.partitions());
        join::joined(left, right.plan, join, filters, spilling, self.eval)
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

    /// The input's columns and `others`. The position stays last.
    fn with_columns(&self, input: Translated, mut others: Vec<PhysicalExprRef>) -> Result<Translated> {
        let mut columns = input.columns();
        let position = if input.positions { columns.pop() } else { None };
        columns.append(&mut others);
        columns.extend(position);
        let plan = operators::project(input.plan, columns)?;
        Ok(Translated { plan, ..input })
    }

    /// DISTINCT is a grouping by all columns without aggregates: rows are distinct if the comparable forms of
    /// their columns are.
    fn distinct(&self, input: &Rel) -> Result<Plan> {
        let keys = all_columns(input);
        let positions = aggregate::takes_positions(&keys, &[]);
        self.filters.group(input, &keys);
        aggregate::grouped(self.rel(input, positions)?, &keys, &[], self.eval)
    }

    fn union(&self, all: bool, left: &Rel, right: &Rel, positions: bool) -> Result<Translated> {
        let keys = all_columns(left);
        let inside = self.inside.get();
        let wanted = if all {
            positions
        } else {
            aggregate::takes_positions(&keys, &[])
        };
        let positions = wanted && inside < INPUT_BITS;
        self.inside.set(inside + 1);
        let left = self.rel(left, positions)?;
        let right = self.rel(right, positions)?;
        self.inside.set(inside);
        let (left, right) = match positions {
            true => {
                let bit = 1 << (FIRST_INPUT_BIT - inside);
                (positioned(left, 0)?, positioned(right, bit)?)
            }
            false => (left, right),
        };
        let both = Translated {
            plan: operators::union(left.plan, right.plan)?,
            positions,
            whole_groups: false,
        };
        if all {
            return Ok(both);
        }
        Ok(Translated {
            plan: aggregate::grouped(both, &keys, &[], self.eval)?,
            positions: false,
            whole_groups: false,
        })
    }

    /// Computed keys become columns first, because a sort computes its keys more than once and counts only
    /// the memory of its columns. A sort with a limit drops most rows at once, so it does not need that.
    fn sort(&self, input: &Rel, keys: &[SortKey], limit: Option<&Expr>) -> Result<Plan> {
        let limit = self.row_count(limit)?.filter(|&n| n < ROWS_MAX);
        // A sort that knows its limit holds so many rows in memory.
        let fetch = limit.filter(|_| self.spilling == Spilling::Nothing);
        let bound = fetch.and_then(|fetch| self.filters.of_limit(input, keys, fetch));
        let mut input = self.rel(input, false)?;
        if let Some(bound) = bound {
            input.plan = Arc::new(Observed::new(input.plan, &bound));
        }
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
        let sorted = operators::sort(rows, order, fetch, limit)?;
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

/// An operator's columns.
fn all_columns(rel: &Rel) -> Vec<Expr> {
    let types = rel.output_types().into_iter().enumerate();
    types.map(|(index, ty)| Expr::column(index, ty, true)).collect()
}

/// The rows with positions from `first` on. Rows without positions are returned unchanged.
fn positioned(input: Translated, first: u64) -> Result<Translated> {
    let mut columns = input.columns();
    let position = if input.positions { columns.pop() } else { None };
    let first: PhysicalExprRef = Arc::new(Literal::new(ScalarValue::UInt64(Some(first))));
    columns.push(match position {
        Some(position) => Arc::new(BinaryExpr::new(position, Operator::Plus, first)),
        None => first,
    });
    Ok(Translated {
        plan: operators::project(input.plan, columns)?,
        positions: true,
        whole_groups: false,
    })
}

fn not_here() -> datafusion_common::DataFusionError {
    carry(Error::internal(
        "an operator that only the executor has was sent to analytics",
    ))
}
