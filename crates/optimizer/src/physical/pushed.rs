//! What the stores compute: filters, LIMIT, the first rows in an order, DISTINCT, and groups of a table's
//! rows, or of the entries of an index that covers the query, are pushed down to TiKV's coprocessor if they
//! mean the same there ([`coprocessor`]). This is the last step of planning: everything else is decided.
//!
//! ```text
//! Aggregate by (k): count(*), avg(n)          Project k, sum(count(*)), average(sum(sum(n)), sum(count(n)))
//!   Scan t [k, n]                               Aggregate by (k): sum(count(*)), sum(sum(n)), sum(count(n))
//!     filter (a > 5)                  =>          Pushed
//!                                                   Aggregate by (k): count(*), sum(n), count(n)
//!                                                     Scan t [k, n]
//!                                                       filter (a > 5)
//! ```
//!
//! Each region returns its own groups, first rows or rows of a LIMIT, so the operator stays above and merges
//! them. If only a part of a filter can be pushed down, the rest of it is evaluated above.

use coprocessor::{Program, goes_down};
use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction, MergeableFunction, average_of, in_type};
use functions::bind::call;
use functions::eval::is_fallible;
use planner::plan::{Rel, Route, SortKey, TableScan};
use types::{Result, SqlType, Value};

use crate::estimates::TableEstimate;
use crate::expr::all;
use crate::limit::rows_wanted;
use crate::{OptimizerEnv, Rule};

/// The largest share of a scan's rows that the stores may return: if many threads could decode all rows here
/// instead, and for groups.
const SHARE_MAX: f64 = 0.5;
/// Groups are compared with at least this many rows, so a few groups are always pushed down.
const GROUPS_ALWAYS: f64 = 1_000.0;

/// Pushes down what can be.
pub struct Pushdown<'a> {
    pub env: &'a OptimizerEnv<'a>,
    /// The executor of the plan.
    pub route: Route,
}

impl Pushdown<'_> {
    pub fn apply(&self, rel: &mut Rel) -> Result<()> {
        if !self.env.applies(Rule::Pushed) {
            return Ok(());
        }
        if let Some(pushed) = self.pushed(rel)? {
            *rel = pushed;
            return Ok(());
        }
        let ends_early = matches!(rel, Rel::Limit { count: Some(_), .. });
        rel.inputs_mut().into_iter().try_for_each(|input| {
            let input = match ends_early {
                true => below_distinct(input),
                false => input,
            };
            types::stack::with_room(|| self.apply(input))
        })
    }

    fn pushed(&self, rel: &Rel) -> Result<Option<Rel>> {
        match rel {
            Rel::Scan(scan) if self.has_coprocessor(scan) => self.filtered(scan),
            Rel::Aggregate {
                input,
                keys,
                aggregates,
            } => match &**input {
                Rel::Scan(scan) if self.has_coprocessor(scan) => self.groups(scan, keys, aggregates),
                _ => Ok(None),
            },
            Rel::Distinct { input } => Ok(self.distinct_rows(input).map(|input| Rel::Distinct {
                input: Box::new(input),
            })),
            Rel::Sort {
                input,
                keys,
                limit: Some(limit),
            } => match &**input {
                Rel::Scan(scan) if self.has_coprocessor(scan) => Ok(first_rows(scan, keys, limit)),
                _ => Ok(None),
            },
            Rel::Limit { input, offset, count } => {
                let wanted = rows_wanted(offset.as_ref(), count.as_ref(), self.env.types)?;
                let input = wanted.and_then(|wanted| self.limited(input, &wanted));
                Ok(input.map(|input| Rel::Limit {
                    input: Box::new(input),
                    offset: offset.clone(),
                    count: count.clone(),
                }))
            }
            _ => Ok(None),
        }
    }

    fn has_coprocessor(&self, scan: &TableScan) -> bool {
        self.env.estimates.has_coprocessor(scan.table.id)
    }

    /// The scan's rows, filtered by the stores.
    fn filtered(&self, scan: &TableScan) -> Result<Option<Rel>> {
        let (down, rest) = split(scan.filter.as_ref());
        if down.is_empty() {
            return Ok(None);
        }
        let share = scan.expected.rows / scan.expected.read.max(f64::MIN_POSITIVE);
        if self.route == Route::Analytical && share > SHARE_MAX {
            return Ok(None);
        }
        let Some(pushed) = exists(Rel::Scan(TableScan {
            filter: all(down, self.env.types)?,
            ..scan.clone()
        })) else {
            return Ok(None);
        };
        Ok(Some(match all(rest, self.env.types)? {
            None => pushed,
            Some(predicate) => Rel::Filter {
                input: Box::new(pushed),
                predicate,
            },
        }))
    }

    /// The rows of a scan, or expressions over them, of which at most `wanted` are needed.
    fn limited(&self, rel: &Rel, wanted: &Expr) -> Option<Rel> {
        match rel {
            // Without a filter, a scan reads no more rows than it returns.
            Rel::Scan(scan) if scan.filter.is_some() && self.has_coprocessor(scan) => exists(Rel::Limit {
                input: Box::new(rel.clone()),
                offset: None,
                count: Some(wanted.clone()),
            }),
            Rel::Project { input, exprs } => Some(Rel::Project {
                input: Box::new(self.limited(input, wanted)?),
                exprs: exprs.clone(),
            }),
            _ => None,
        }
    }

    /// The distinct rows of a scan, or of some of its columns, in each region: groups without aggregates.
    fn distinct_rows(&self, rel: &Rel) -> Option<Rel> {
        let (scan, keys) = match rel {
            Rel::Scan(scan) => {
                let types = scan.output_types().into_iter().enumerate();
                (scan, types.map(|(at, ty)| Expr::column(at, ty, true)).collect())
            }
            Rel::Project { input, exprs } => match &**input {
                Rel::Scan(scan) => (scan, exprs.clone()),
                _ => return None,
            },
            _ => return None,
        };
        let groups = |keys| Rel::Aggregate {
            input: Box::new(Rel::Scan(scan.clone())),
            keys,
            aggregates: Vec::new(),
        };
        if !self.has_coprocessor(scan) || !self.are_few(scan, &keys) {
            return None;
        }
        exists(groups(keys))
    }

    /// Whether the groups by keys are few compared with their rows. Otherwise a store would send about as
    /// much as it reads, and hold all of it. If nothing is known of them, they are taken to be few.
    fn are_few(&self, scan: &TableScan, keys: &[Expr]) -> bool {
        let offsets = keys.iter().filter_map(|key| match key {
            Expr::Column { index, .. } => scan.columns.get(*index).copied(),
            _ => None,
        });
        let offsets: Vec<usize> = offsets.collect();
        let primary = scan.table.primary_parts();
        if !primary.is_empty() && primary.iter().all(|part| offsets.contains(&part.column)) {
            return false;
        }
        let estimate = TableEstimate::new(&scan.table, self.env.estimates);
        let distinct = offsets.iter().map(|&offset| estimate.distinct(offset));
        let Some(mut distinct) = distinct.collect::<Option<Vec<f64>>>() else {
            return true;
        };
        // Columns often depend on each other: of the first column all values count, of the next ones the
        // square root, the fourth root and so on.
        distinct.sort_by(|a, b| b.total_cmp(a));
        let counted = distinct
            .iter()
            .zip(0..)
            .map(|(values, nth)| values.powf(0.5_f64.powi(nth)));
        counted.product::<f64>() <= scan.expected.rows.max(GROUPS_ALWAYS) * SHARE_MAX
    }

    fn groups(&self, scan: &TableScan, keys: &[Expr], calls: &[AggregateCall]) -> Result<Option<Rel>> {
        if !self.are_few(scan, keys) {
            return Ok(None);
        }
        let mut parts = Parts {
            keys: keys.len(),
            partial: Vec::new(),
            merged: Vec::new(),
        };
        let column = |(at, key): (usize, &Expr)| Expr::column(at, key.ty(), key.nullable());
        let keys_above: Vec<Expr> = keys.iter().enumerate().map(column).collect();
        let mut results = keys_above.clone();
        for call in calls {
            match self.merged(call, &mut parts)? {
                Some(result) => results.push(result),
                None => return Ok(None),
            }
        }
        let Some(pushed) = exists(Rel::Aggregate {
            input: Box::new(Rel::Scan(scan.clone())),
            keys: keys.to_vec(),
            aggregates: parts.partial,
        }) else {
            return Ok(None);
        };
        Ok(Some(Rel::Project {
            input: Box::new(Rel::Aggregate {
                input: Box::new(pushed),
                keys: keys_above,
                aggregates: parts.merged,
            }),
            exprs: results,
        }))
    }

    /// The result of a call, computed from the merged parts. `None`: it cannot be computed from parts.
    fn merged(&self, call: &AggregateCall, parts: &mut Parts) -> Result<Option<Expr>> {
        let argument = call.args.first().map(Expr::ty);
        Ok(match (call.function, argument) {
            (AggregateFunction::Count, _) => Some(self.count(call, parts)?),
            (AggregateFunction::Sum, Some(ty)) => Some(in_type(parts.sum(call, &ty), call.ty)),
            (AggregateFunction::Avg, Some(ty)) => {
                let count = AggregateCall {
                    function: AggregateFunction::Count,
                    ty: SqlType::BIGINT,
                    shown: SqlType::BIGINT,
                    ..call.clone()
                };
                let sum = parts.sum(call, &ty);
                Some(average_of(sum, self.count(&count, parts)?, &call.ty)?)
            }
            (AggregateFunction::Min | AggregateFunction::Max, Some(_)) => {
                Some(parts.add(call.clone(), call.function, call.ty))
            }
            _ => None,
        })
    }

    /// A sum of counts; 0 if there is none.
    fn count(&self, count: &AggregateCall, parts: &mut Parts) -> Result<Expr> {
        let sum = MergeableFunction::sum_of(&SqlType::BIGINT).result_type();
        let sum = parts.add(count.clone(), AggregateFunction::Sum, sum);
        let number = Expr::Cast {
            input: Box::new(sum),
            ty: count.ty,
            implicit: true,
        };
        let zero = Expr::literal(Value::Int(0), count.ty);
        call("ifnull", vec![number, zero], self.env.types)
    }
}

/// The aggregates that the stores compute, and those above that merge them.
struct Parts {
    /// How many columns come before their results.
    keys: usize,
    partial: Vec<AggregateCall>,
    merged: Vec<AggregateCall>,
}

impl Parts {
    /// The sum of partial sums.
    fn sum(&mut self, sum_or_average: &AggregateCall, argument: &SqlType) -> Expr {
        let ty = MergeableFunction::sum_of(argument).result_type();
        let partial = AggregateCall {
            function: AggregateFunction::Sum,
            ty,
            shown: ty,
            ..sum_or_average.clone()
        };
        self.add(
            partial,
            AggregateFunction::Sum,
            MergeableFunction::sum_of(&ty).result_type(),
        )
    }

    /// Adds a partial aggregate and its merge, each once. Returns the column above.
    fn add(&mut self, partial: AggregateCall, function: AggregateFunction, ty: SqlType) -> Expr {
        let found = self.partial.iter().position(|other| *other == partial);
        let at = found.unwrap_or(self.partial.len());
        let merged = AggregateCall {
            function,
            args: vec![Expr::column(self.keys + at, partial.ty, true)],
            distinct: false,
            concat: None,
            ty,
            shown: ty,
        };
        if found.is_none() {
            self.partial.push(partial);
            self.merged.push(merged);
        }
        Expr::column(self.keys + at, ty, true)
    }
}

fn first_rows(scan: &TableScan, keys: &[SortKey], limit: &Expr) -> Option<Rel> {
    let pushed = exists(Rel::Sort {
        input: Box::new(Rel::Scan(scan.clone())),
        keys: keys.to_vec(),
        limit: Some(limit.clone()),
    })?;
    Some(Rel::Sort {
        input: Box::new(pushed),
        keys: keys.to_vec(),
        limit: Some(limit.clone()),
    })
}

/// The input of a DISTINCT of which the first rows are enough: it ends with them, but a store would read all
/// rows for its groups.
fn below_distinct(rel: &mut Rel) -> &mut Rel {
    match rel {
        Rel::Distinct { input } => input,
        Rel::Project { input, .. } => below_distinct(input),
        _ => rel,
    }
}

/// A pushed part, if there is a program for it.
fn exists(input: Rel) -> Option<Rel> {
    Program::exists(&input).then(|| Rel::Pushed {
        input: Box::new(input),
    })
}

/// The conditions that are pushed down, and the others. After a condition that may fail or warn, none is
/// pushed down: the condition would be evaluated for fewer rows.
fn split(filter: Option<&Expr>) -> (Vec<Expr>, Vec<Expr>) {
    let (mut down, mut rest) = (Vec::new(), Vec::new());
    let mut may_fail = false;
    for condition in planner::conjuncts(filter) {
        if !may_fail && goes_down(condition) {
            down.push(condition.clone());
        } else {
            may_fail |= is_fallible(condition);
            rest.push(condition.clone());
        }
    }
    (down, rest)
}
