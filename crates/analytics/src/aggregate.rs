//! GROUP BY and the aggregate functions.
//!
//! Three steps: a projection computes each key, its comparable form and each argument; DataFusion groups and
//! aggregates; a projection converts the results to MySQL's types. If the comparable form of a key is not the
//! key itself (a string under a collation), the key of the group's first row is returned, which a column of
//! positions determines.

use std::sync::Arc;

use datafusion_common::{Result, ScalarValue};
use datafusion_physical_expr::PhysicalExprRef;
use datafusion_physical_expr::expressions::Literal;
use functions::aggregate::{AggregateCall, AggregateFunction, MergeableFunction};
use functions::comparable;
use functions::{EvalContext, Expr};
use types::{Error, SqlType, TypeKind};

use crate::columns::columns;
use crate::error::carry;
use crate::operators::{self, Aggregate, Plan, Translated};
use crate::{expression, finite, grouping_key, tuple};

/// Whether results depend on the order of the input's rows, so that a column of positions is needed.
pub fn takes_positions(keys: &[Expr], calls: &[AggregateCall]) -> bool {
    keys.iter().any(|key| comparable::differs(&key.ty()))
        || calls.iter().any(|call| match (call.function, call.args.first()) {
            (AggregateFunction::AnyValue, _) => true,
            (AggregateFunction::Min | AggregateFunction::Max, Some(arg)) => {
                MergeableFunction::Min(arg.ty()).takes_positions()
            }
            _ => false,
        })
}

/// Groups rows by keys, and aggregates each group.
pub fn grouped(
    input: Translated,
    keys: &[Expr],
    calls: &[AggregateCall],
    eval: &Arc<EvalContext>,
) -> Result<Plan> {
    let mut steps = Steps::new(eval, input, keys.len());
    for key in keys {
        steps.key(key)?;
    }
    for call in calls {
        steps.call(call)?;
    }
    steps.plan()
}

/// A column of the first projection. Equal columns are computed once, unless they are not deterministic.
#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    Value(Expr),
    /// The comparable form.
    Key(Expr),
    /// The comparable forms of several values.
    Tuple(Vec<Expr>),
    /// The row's position; a constant if rows have no positions.
    Position,
}

struct Steps<'a> {
    eval: &'a Arc<EvalContext>,
    input: Plan,
    /// The input's columns, without the position.
    inputs: Vec<PhysicalExprRef>,
    position: PhysicalExprRef,
    whole_groups: bool,
    /// Expressions that the first projection uses more than once. They are computed below it, as further
    /// columns of its input.
    shared: Vec<Expr>,
    before: Vec<Wanted>,
    keys: usize,
    groups: Vec<usize>,
    aggregates: Vec<Aggregate>,
    /// The columns that the expressions of [`Steps::last`] refer to.
    middle: Vec<Middle>,
    last: Vec<Expr>,
}

/// A column of the grouping's result, by position.
struct Middle {
    column: usize,
    /// Set for a sum of doubles: the function that the error names if the sum is out of range.
    finite: Option<&'static str>,
}

impl<'a> Steps<'a> {
    fn new(eval: &'a Arc<EvalContext>, input: Translated, keys: usize) -> Self {
        let mut inputs = input.columns();
        let position = if input.positions { inputs.pop() } else { None };
        Self {
            eval,
            input: input.plan,
            inputs,
            position: position.unwrap_or_else(constant_position),
            whole_groups: input.whole_groups,
            shared: Vec::new(),
            before: Vec::new(),
            keys,
            groups: Vec::new(),
            aggregates: Vec::new(),
            middle: Vec::new(),
            last: Vec::new(),
        }
    }

    fn before(&mut self, wanted: Wanted) -> usize {
        let wanted = match wanted {
            Wanted::Key(expr) if !comparable::differs(&expr.ty()) => Wanted::Value(expr),
            wanted => wanted,
        };
        let once = match &wanted {
            Wanted::Value(expr) | Wanted::Key(expr) => functions::is_deterministic(expr),
            Wanted::Tuple(exprs) => exprs.iter().all(functions::is_deterministic),
            Wanted::Position => true,
        };
        if let Some(index) = self.before.iter().position(|other| once && *other == wanted) {
            return index;
        }
        self.before.push(wanted);
        self.before.len() - 1
    }

    /// Marks an expression as used twice, by its value and by its comparable form, so that it is computed
    /// once.
    fn shared(&mut self, expr: &Expr) -> Expr {
        if matches!(expr, Expr::Column { .. }) {
            return expr.clone();
        }
        let known = functions::is_deterministic(expr)
            .then(|| self.shared.iter().position(|other| other == expr))
            .flatten();
        let index = known.unwrap_or_else(|| {
            self.shared.push(expr.clone());
            self.shared.len() - 1
        });
        Expr::column(self.inputs.len() + index, expr.ty(), true)
    }

    fn aggregate(&mut self, function: MergeableFunction, arguments: Vec<usize>, distinct: bool) -> usize {
        let aggregate = Aggregate {
            function,
            arguments,
            distinct,
        };
        let index = self.aggregates.iter().position(|other| *other == aggregate);
        self.keys
            + index.unwrap_or_else(|| {
                self.aggregates.push(aggregate);
                self.aggregates.len() - 1
            })
    }

    /// Makes a column of the grouping an input of the last step.
    fn result(&mut self, column: usize, ty: SqlType) -> Expr {
        self.middle(Middle { column, finite: None }, ty)
    }

    fn middle(&mut self, middle: Middle, ty: SqlType) -> Expr {
        self.middle.push(middle);
        Expr::column(self.middle.len() - 1, ty, true)
    }

    fn key(&mut self, key: &Expr) -> Result<()> {
        let ty = key.ty();
        let column = if comparable::differs(&ty) {
            let key = self.shared(key);
            let comparable = self.before(Wanted::Key(key.clone()));
            self.groups.push(comparable);
            let shown = self.before(Wanted::Value(key));
            self.first(shown, ty)
        } else {
            let value = self.before(Wanted::Value(key.clone()));
            self.groups.push(value);
            self.groups.len() - 1
        };
        let column = self.result(column, ty);
        self.last.push(column);
        Ok(())
    }

    fn call(&mut self, call: &AggregateCall) -> Result<()> {
        let result = match call.function {
            AggregateFunction::Count => self.count(call),
            AggregateFunction::Sum => self.sum(call),
            AggregateFunction::Avg => self.average(call)?,
            AggregateFunction::Min | AggregateFunction::Max => self.extreme(call),
            AggregateFunction::AnyValue => {
                let value = self.before(Wanted::Value(call.args[0].clone()));
                let column = self.first(value, call.args[0].ty());
                self.result(column, call.args[0].ty())
            }
            other => {
                return Err(carry(Error::internal(format_args!(
                    "{} was sent to analytics",
                    other.name()
                ))));
            }
        };
        self.last
            .push(if result.ty().arrow_type() == call.ty.arrow_type() {
                result
            } else {
                functions::aggregate::in_type(result, call.ty)
            });
        Ok(())
    }

    fn count(&mut self, call: &AggregateCall) -> Expr {
        let counted = match call.args.as_slice() {
            [] => Vec::new(),
            [arg] if arg.ty().kind != TypeKind::Null => {
                let arg = arg.clone();
                vec![self.before(match call.distinct {
                    true => Wanted::Key(arg),
                    false => Wanted::Value(arg),
                })]
            }
            several => vec![self.before(Wanted::Tuple(several.to_vec()))],
        };
        let column = self.aggregate(MergeableFunction::Count, counted, call.distinct);
        self.result(column, SqlType::BIGINT)
    }

    /// The sum, in a type wide enough for any number of rows.
    fn sum(&mut self, call: &AggregateCall) -> Expr {
        let function = MergeableFunction::sum_of(&call.args[0].ty());
        let ty = function.result_type();
        let value = self.before(Wanted::Value(call.args[0].clone()));
        let column = self.aggregate(function, vec![value], call.distinct);
        let finite = ty.is_float().then(|| call.function.name());
        self.middle(Middle { column, finite }, ty)
    }

    /// Sum divided by count, by MySQL's rules for `/`.
    fn average(&mut self, call: &AggregateCall) -> Result<Expr> {
        let sum = self.sum(call);
        let addend = call.args[0].clone();
        let counted = self.before(match call.distinct {
            true => Wanted::Key(addend),
            false => Wanted::Value(addend),
        });
        let column = self.aggregate(MergeableFunction::Count, vec![counted], call.distinct);
        let count = self.result(column, SqlType::BIGINT);
        functions::aggregate::average_of(sum, count, &call.ty).map_err(carry)
    }

    fn extreme(&mut self, call: &AggregateCall) -> Expr {
        let ty = call.args[0].ty();
        let function = match call.function {
            AggregateFunction::Min => MergeableFunction::Min(ty),
            _ => MergeableFunction::Max(ty),
        };
        let mut arguments = vec![self.before(Wanted::Value(call.args[0].clone()))];
        if function.takes_positions() {
            arguments.push(self.before(Wanted::Position));
        }
        let column = self.aggregate(function, arguments, false);
        self.result(column, ty)
    }

    /// The value of an expression in the group's first row. `value`: its column in the first projection.
    fn first(&mut self, value: usize, ty: SqlType) -> usize {
        let position = self.before(Wanted::Position);
        self.aggregate(MergeableFunction::First(ty), vec![value, position], false)
    }

    fn plan(self) -> Result<Plan> {
        let eval = self.eval;
        let (mut input, mut inputs, mut position) = (self.input, self.inputs, self.position);
        if !self.shared.is_empty() {
            let mut with_shared = inputs.clone();
            for expr in &self.shared {
                with_shared.push(expression::value(expr, &inputs, eval)?);
            }
            with_shared.push(position);
            input = operators::project(input, with_shared)?;
            inputs = columns(&input.schema());
            position = inputs.pop().unwrap_or_else(constant_position);
        }
        let mut before = Vec::with_capacity(self.before.len());
        for wanted in &self.before {
            let key = |expr: &Expr| -> Result<PhysicalExprRef> {
                let value = expression::value(expr, &inputs, eval)?;
                Ok(grouping_key::key(value, &expr.ty()))
            };
            before.push(match wanted {
                Wanted::Value(expr) => expression::value(expr, &inputs, eval)?,
                Wanted::Key(expr) => key(expr)?,
                Wanted::Tuple(exprs) => tuple::tuple(exprs.iter().map(key).collect::<Result<_>>()?),
                Wanted::Position => position.clone(),
            });
        }
        // A lone COUNT(*) reads no column: a projection without columns is not needed.
        if !before.is_empty() {
            input = operators::project(input, before)?;
        }
        let grouped = operators::group(input, &self.groups, &self.aggregates, self.whole_groups)?;
        let results = columns(&grouped.schema());
        let middle = self.middle.iter().map(|middle| {
            let column = results[middle.column].clone();
            match middle.finite {
                Some(name) => finite::finite(column, name),
                None => column,
            }
        });
        let middle: Vec<_> = middle.collect();
        let last = self
            .last
            .iter()
            .map(|expr| expression::value(expr, &middle, eval));
        operators::project(grouped, last.collect::<Result<_>>()?)
    }
}

fn constant_position() -> PhysicalExprRef {
    Arc::new(Literal::new(ScalarValue::UInt64(Some(0))))
}
