//! Our operators to DataFusion's. The output of every translated operator is named `c0, c1, ...` by position.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr as DfExpr, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr, ident};
use functions::{EvalContext, Expr};
use planner::plan::{Rel, SortKey};
use types::{Error, SqlType, Value};

use crate::error::carry;
use crate::{Source, aggregate, expression, grouping_key, scan};

/// More rows than there can be. DataFusion counts them in an `i64`, and adds a LIMIT to its OFFSET.
const ROWS_MAX: usize = 1 << 62;

/// The name of an operator's output column.
pub fn column_name(index: usize) -> String {
    format!("c{index}")
}

/// A schema of nullable columns, named by position.
pub fn schema_of(types: impl IntoIterator<Item = SqlType>) -> SchemaRef {
    let field = |(i, ty): (usize, SqlType)| Field::new(column_name(i), ty.arrow_type(), true);
    Arc::new(Schema::new(
        types.into_iter().enumerate().map(field).collect::<Vec<_>>(),
    ))
}

pub fn translate(rel: &Rel, source: &Source, eval: &Arc<EvalContext>) -> Result<LogicalPlan> {
    let translator = Translator { source, eval };
    Ok(translator.rel(rel, false)?.plan)
}

/// A translated operator.
pub struct Translated {
    pub plan: LogicalPlan,
    pub types: Vec<SqlType>,
    /// Whether one more column follows those of `types`, which orders rows as the scan met them.
    pub positions: bool,
}

pub struct Translator<'a> {
    pub source: &'a Source,
    pub eval: &'a Arc<EvalContext>,
}

impl Translator<'_> {
    /// `positions`: a column of positions is wanted; it is there where the operators below keep one.
    pub fn rel(&self, rel: &Rel, positions: bool) -> Result<Translated> {
        match rel {
            Rel::Scan(scan) => {
                let types = scan
                    .columns
                    .iter()
                    .map(|&c| scan.table.columns[c].ty)
                    .collect::<Vec<_>>();
                let table = scan::table(scan, positions, self.source, self.eval).map_err(carry)?;
                let builder = LogicalPlanBuilder::scan("t", provider_as_source(Arc::new(table)), None)?;
                let width = types.len() + usize::from(positions);
                let plan =
                    builder.project((0..width).map(|i| ident(column_name(i)).alias(column_name(i))))?;
                Ok(Translated {
                    plan: plan.build()?,
                    types,
                    positions,
                })
            }
            Rel::Filter { input, predicate } => {
                let input = self.rel(input, positions)?;
                let condition = expression::predicate(predicate, self.eval);
                let plan = LogicalPlanBuilder::from(input.plan).filter(condition)?.build()?;
                Ok(Translated { plan, ..input })
            }
            Rel::Project { input, exprs } => self.project(self.rel(input, positions)?, exprs),
            Rel::Aggregate {
                input,
                keys,
                aggregates,
            } => aggregate::aggregate(self, input, keys, aggregates),
            Rel::Distinct { input } => self.distinct(input),
            Rel::Sort { input, keys, limit } => self.sort(self.rel(input, false)?, keys, limit.as_ref()),
            Rel::Limit { input, offset, count } => {
                let input = self.rel(input, false)?;
                let skip = self.row_count(offset.as_ref())?.unwrap_or(0);
                let fetch = self.row_count(count.as_ref())?.filter(|&n| n < ROWS_MAX);
                let plan = LogicalPlanBuilder::from(input.plan).limit(skip, fetch)?.build()?;
                Ok(Translated {
                    plan,
                    positions: false,
                    ..input
                })
            }
            Rel::OneRow | Rel::Virtual(_) => Err(carry(Error::internal(
                "a relation without stored rows was sent to analytics",
            ))),
        }
    }

    fn project(&self, input: Translated, exprs: &[Expr]) -> Result<Translated> {
        let mut columns: Vec<DfExpr> = Vec::with_capacity(exprs.len() + 1);
        for (i, expr) in exprs.iter().enumerate() {
            columns.push(expression::value(expr, self.eval).alias(column_name(i)));
        }
        if input.positions {
            columns.push(ident(column_name(input.types.len())).alias(column_name(exprs.len())));
        }
        let plan = LogicalPlanBuilder::from(input.plan).project(columns)?.build()?;
        Ok(Translated {
            plan,
            types: exprs.iter().map(Expr::ty).collect(),
            positions: input.positions,
        })
    }

    /// Rows are distinct if their columns' keys are: DISTINCT is a grouping by all columns without aggregates.
    fn distinct(&self, input: &Rel) -> Result<Translated> {
        let types = self.rel(input, false)?.types;
        let column = |(index, &ty): (usize, &SqlType)| Expr::column(index, ty, true);
        let keys: Vec<Expr> = types.iter().enumerate().map(column).collect();
        aggregate::aggregate(self, input, &keys, &[])
    }

    /// Keys that are computed become columns first: a sort computes its keys more than once.
    fn sort(&self, input: Translated, keys: &[SortKey], limit: Option<&Expr>) -> Result<Translated> {
        let width = input.types.len();
        let mut columns: Vec<DfExpr> = (0..width).map(|i| ident(column_name(i))).collect();
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let mut value = expression::value(&key.expr, self.eval);
            if !matches!(key.expr, Expr::Column { .. }) {
                let name = column_name(columns.len());
                columns.push(value.alias(&name));
                value = ident(name);
            }
            let value = grouping_key::order(value, &key.expr.ty());
            order.push(SortExpr::new(value, !key.descending, !key.descending));
        }
        let keyed = columns.len() > width;
        let rows = match keyed {
            true => LogicalPlanBuilder::from(input.plan).project(columns)?.build()?,
            false => input.plan,
        };
        // Not by the builder, which looks for the keys' names below the projection too, where they name other columns.
        let sorted = LogicalPlan::Sort(Sort {
            expr: order,
            input: Arc::new(rows),
            fetch: self.row_count(limit)?.filter(|&n| n < ROWS_MAX),
        });
        let plan = match keyed {
            true => LogicalPlanBuilder::from(sorted)
                .project((0..width).map(|i| ident(column_name(i))))?
                .build()?,
            false => sorted,
        };
        Ok(Translated {
            plan,
            types: input.types,
            positions: false,
        })
    }

    /// The value of a LIMIT or OFFSET, [`ROWS_MAX`] where it is more.
    fn row_count(&self, expr: Option<&Expr>) -> Result<Option<usize>> {
        let Some(expr) = expr else { return Ok(None) };
        match functions::eval_value(expr, self.eval).map_err(carry)? {
            Value::UInt(n) => Ok(Some(usize::try_from(n).unwrap_or(ROWS_MAX).min(ROWS_MAX))),
            Value::Int(n) if n >= 0 => Ok(Some((n as usize).min(ROWS_MAX))),
            other => Err(carry(Error::internal(format_args!("LIMIT of {other:?}")))),
        }
    }
}
