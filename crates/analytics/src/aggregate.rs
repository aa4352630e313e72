//! GROUP BY and the aggregate functions.
//!
//! Three steps: a projection computes each key, its comparable form and each argument; DataFusion groups and
//! aggregates; a projection gives the results MySQL's types. A key whose comparable form is not the key itself (a
//! string under a collation) comes out as that of the group's first row, which the position column decides.

use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::{count, first_value, max, min, sum};
use datafusion::logical_expr::{Expr as DfExpr, ExprFunctionExt, LogicalPlanBuilder, SortExpr, ident, lit};
use functions::Expr;
use functions::aggregate::{AggregateCall, AggregateFunction};
use functions::comparable;
use planner::plan::Rel;
use types::{SqlType, TypeKind};

use crate::error::carry;
use crate::translate::{Translated, Translator, column_name};
use crate::{collated_extreme, expression, finite, grouping_key, joined_states};

/// Most digits of an argument whose sum DataFusion keeps in 128 bits (it adds ten).
const DIGITS_SUMMED_IN_128_BITS: u32 = DIGITS_IN_128_BITS - 10;

/// Most digits of a DECIMAL held in 128 bits.
const DIGITS_IN_128_BITS: u32 = 38;

pub fn aggregate(
    translator: &Translator,
    input: &Rel,
    keys: &[Expr],
    calls: &[AggregateCall],
) -> Result<Translated> {
    let ordered = keys.iter().any(|k| comparable::differs(&k.ty()))
        || calls
            .iter()
            .any(|c| c.function.is_ordered() || is_collated_extreme(c));
    let input = translator.rel(input, ordered)?;
    let mut steps = Steps::default();
    let position = (ordered && input.positions).then(|| {
        let position = ident(column_name(input.types.len()));
        steps.before(position)
    });
    for key in keys {
        steps.key(translator, key, position.as_deref());
    }
    for call in calls {
        steps.call(translator, call, position.as_deref())?;
    }
    let width = keys.len() + calls.len();
    // DataFusion wants at least one expression: a DISTINCT of nothing cannot be, a lone COUNT(*) has one.
    let types: Vec<SqlType> = keys
        .iter()
        .map(Expr::ty)
        .chain(calls.iter().map(|c| c.ty))
        .collect();
    let plan = LogicalPlanBuilder::from(input.plan)
        .project(steps.before)?
        .aggregate(steps.groups, steps.aggregates)?
        .project(steps.after.clone())?
        .project(steps.last)?
        .build()?;
    debug_assert_eq!(plan.schema().fields().len(), width);
    Ok(Translated {
        plan,
        types,
        positions: false,
    })
}

#[derive(Default)]
struct Steps {
    /// The first projection: names `b0..`.
    before: Vec<DfExpr>,
    groups: Vec<DfExpr>,
    aggregates: Vec<DfExpr>,
    /// The aggregate's output under the names `c0..` that [`Steps::last`]'s expressions refer to.
    after: Vec<DfExpr>,
    last: Vec<DfExpr>,
}

impl Steps {
    fn before(&mut self, expr: DfExpr) -> String {
        let name = format!("b{}", self.before.len());
        self.before.push(expr.alias(&name));
        name
    }

    fn aggregate(&mut self, expr: DfExpr) -> String {
        let name = format!("a{}", self.aggregates.len());
        self.aggregates.push(expr.alias(&name));
        name
    }

    /// A column of the aggregation as input of the last step.
    fn result(&mut self, name: &str, ty: SqlType) -> Expr {
        self.middle(ident(name), ty)
    }

    /// The same of an expression over columns of the aggregation.
    fn middle(&mut self, expr: DfExpr, ty: SqlType) -> Expr {
        let index = self.after.len();
        self.after.push(expr.alias(column_name(index)));
        Expr::column(index, ty, true)
    }

    fn output(&mut self, expr: DfExpr) {
        let name = column_name(self.last.len());
        self.last.push(expr.alias(name));
    }

    fn key(&mut self, translator: &Translator, key: &Expr, position: Option<&str>) {
        let ty = key.ty();
        let value = expression::value(key, translator.eval);
        let comparable = self.before(grouping_key::key(value.clone(), &ty));
        self.groups.push(ident(&comparable));
        let name = if comparable::differs(&ty) {
            let shown = self.before(value);
            let order = position
                .map(|p| SortExpr::new(ident(p), true, true))
                .into_iter()
                .collect();
            self.aggregate(first_value(ident(shown), order))
        } else {
            comparable
        };
        let column = self.result(&name, ty);
        self.output(expression::value(&column, translator.eval));
    }

    fn call(&mut self, translator: &Translator, call: &AggregateCall, position: Option<&str>) -> Result<()> {
        let result = match call.function {
            AggregateFunction::Count => self.count(translator, call)?,
            AggregateFunction::Sum => self.sum(translator, call)?.0,
            AggregateFunction::Avg => self.average(translator, call)?,
            AggregateFunction::Min | AggregateFunction::Max => self.extreme(translator, call, position),
            AggregateFunction::AnyValue => self.any_value(translator, call, position),
            _ => self.joined(translator, call, position),
        };
        let result = if result.ty().arrow_type() == call.ty.arrow_type() {
            result
        } else {
            functions::aggregate::in_type(result, call.ty)
        };
        self.output(expression::value(&result, translator.eval));
        Ok(())
    }

    fn count(&mut self, translator: &Translator, call: &AggregateCall) -> Result<Expr> {
        let counted = match call.args.as_slice() {
            [] => count(lit(1i64)),
            [arg] if arg.ty().kind != TypeKind::Null => {
                let mut value = expression::value(arg, translator.eval);
                if call.distinct {
                    value = grouping_key::key(value, &arg.ty());
                }
                self.distinct(count, value, call.distinct)?
            }
            several => {
                let keys = several
                    .iter()
                    .map(|arg| grouping_key::key(expression::value(arg, translator.eval), &arg.ty()))
                    .collect::<Vec<_>>();
                self.distinct(count, crate::tuple::tuple(keys), call.distinct)?
            }
        };
        let name = self.aggregate(counted);
        Ok(self.result(&name, SqlType::BIGINT))
    }

    /// The sum, in a type wide enough for any number of rows, and the argument as it was added.
    fn sum(&mut self, translator: &Translator, call: &AggregateCall) -> Result<(Expr, Expr)> {
        let addend = addend(&call.args[0]);
        let value = expression::value(&addend, translator.eval);
        let summed = self.distinct(sum, value, call.distinct)?;
        let name = self.aggregate(summed);
        let ty = match addend.ty() {
            ty if ty.is_decimal() && ty.length <= DIGITS_SUMMED_IN_128_BITS => {
                SqlType::decimal(ty.length + 10, ty.decimals)
            }
            ty if ty.is_decimal() => SqlType::decimal((ty.length + 10).min(76), ty.decimals),
            ty => ty,
        };
        if !ty.is_float() {
            return Ok((self.result(&name, ty), addend));
        }
        let column = self.middle(finite::finite(ident(name), call.function.name()), ty);
        Ok((column, addend))
    }

    /// Sum divided by count, by MySQL's rules for `/`.
    fn average(&mut self, translator: &Translator, call: &AggregateCall) -> Result<Expr> {
        let (sum, addend) = self.sum(translator, call)?;
        let mut value = expression::value(&addend, translator.eval);
        if call.distinct {
            value = grouping_key::key(value, &addend.ty());
        }
        let counted = self.distinct(count, value, call.distinct)?;
        let name = self.aggregate(counted);
        let count = self.result(&name, SqlType::BIGINT);
        functions::aggregate::average_of(sum, count, &call.ty).map_err(carry)
    }

    /// MIN or MAX. Of strings that the collation does not tell apart, the first one met; so with JSON.
    fn extreme(&mut self, translator: &Translator, call: &AggregateCall, position: Option<&str>) -> Expr {
        let ty = call.args[0].ty();
        let largest = call.function == AggregateFunction::Max;
        let value = expression::value(&call.args[0], translator.eval);
        let found = if is_collated_extreme(call) {
            let key = self.before(grouping_key::key(value.clone(), &ty));
            let value = self.before(value);
            let position = position.map_or_else(|| lit(0u64), ident);
            collated_extreme::extreme(ident(key), ident(value), position, largest)
        } else {
            let value = self.before(value);
            if largest {
                max(ident(value))
            } else {
                min(ident(value))
            }
        };
        let name = self.aggregate(found);
        self.result(&name, ty)
    }

    /// The value of the group's first row.
    fn any_value(&mut self, translator: &Translator, call: &AggregateCall, position: Option<&str>) -> Expr {
        let value = self.before(expression::value(&call.args[0], translator.eval));
        let order = position
            .map(|p| SortExpr::new(ident(p), true, true))
            .into_iter()
            .collect();
        let name = self.aggregate(first_value(ident(value), order));
        self.result(&name, call.args[0].ty())
    }

    /// A function whose accumulators are ours.
    fn joined(&mut self, translator: &Translator, call: &AggregateCall, position: Option<&str>) -> Expr {
        let mut args: Vec<DfExpr> = Vec::with_capacity(call.args.len() + 1);
        for arg in &call.args {
            args.push(ident(self.before(expression::value(arg, translator.eval))));
        }
        args.push(position.map_or_else(|| lit(0u64), ident));
        let name = self.aggregate(joined_states::aggregate(call, args, translator.eval));
        self.result(&name, call.ty)
    }

    /// `function` of a value computed before grouping, of distinct values where asked.
    fn distinct(&mut self, function: fn(DfExpr) -> DfExpr, value: DfExpr, distinct: bool) -> Result<DfExpr> {
        let name = self.before(value);
        let call = function(ident(name));
        if distinct {
            call.distinct().build()
        } else {
            Ok(call)
        }
    }
}

/// Whether a call is a MIN or MAX that compares by keys.
fn is_collated_extreme(call: &AggregateCall) -> bool {
    let extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
    let keyed = |ty: SqlType| comparable::data_type(&ty) != ty.arrow_type();
    extreme && call.args.first().is_some_and(|arg| keyed(arg.ty()))
}

/// The argument of SUM and AVG as it is added: DECIMAL, held in 256 bits where the sum needs them, or DOUBLE.
fn addend(arg: &Expr) -> Expr {
    let ty = arg.ty();
    let target = if ty.is_integer() {
        SqlType::decimal(20, 0)
    } else if ty.is_decimal() && (DIGITS_SUMMED_IN_128_BITS + 1..=DIGITS_IN_128_BITS).contains(&ty.length) {
        SqlType::decimal(DIGITS_IN_128_BITS + 1, ty.decimals)
    } else if ty.is_decimal() || ty.kind == TypeKind::Double {
        return arg.clone();
    } else {
        SqlType::DOUBLE
    };
    Expr::Cast {
        input: Box::new(arg.clone()),
        ty: target,
        implicit: true,
    }
}
