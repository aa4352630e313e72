//! Evaluates one row at a time. This is the reference for the meaning of every expression. The columnar
//! kernels are faster and give the same values.

use types::stack::with_room;
use types::{Error, Result, Value};

use crate::datum::{Cell, Datum};
use crate::expr::{Call, Eval};
use crate::input::Row;
use crate::truth::truth;
use crate::{EvalContext, Expr, cast};

/// Evaluates `expr` over one row. Fails with 1317 if the statement is interrupted in the course of much work.
pub(crate) fn evaluate<'a>(expr: &'a Expr, row: &Row<'a>, ctx: &'a EvalContext) -> Result<Cell<'a>> {
    match expr {
        Expr::Column { index, .. } => row.column(*index).map(Cell::Ref),
        Expr::Literal { value, ty } => {
            ctx.count_made(value, ty)?;
            Ok(Cell::Ref(Datum::of(value)))
        }
        Expr::Param { index, ty, .. } => parameter(*index, ty, ctx),
        Expr::Outer { slot, .. } => Ok(Cell::Own(ctx.state.outer(*slot))),
        composite => with_room(|| evaluate_parts(composite, row, ctx)),
    }
}

/// As [`evaluate`], of what has parts.
fn evaluate_parts<'a>(expr: &'a Expr, row: &Row<'a>, ctx: &'a EvalContext) -> Result<Cell<'a>> {
    match expr {
        Expr::Call { function, args, ty } => {
            let def = function.0;
            let call = Call {
                ctx,
                def,
                args,
                ty: *ty,
            };
            match def.eval {
                Eval::Lazy(eval) => eval(&call, row),
                Eval::Scalar(eval) => {
                    let takes_json = def.takes_json;
                    let argument = |arg| match evaluate(arg, row, ctx) {
                        Ok(cell) if !takes_json => Ok(cell.without_json()),
                        cell => cell,
                    };
                    let Some(value) = scalar(&call, eval, argument)? else {
                        return Ok(Cell::NULL);
                    };
                    ctx.count_made(&value, ty)?;
                    Ok(Cell::Own(value))
                }
            }
        }
        Expr::Cast { input, ty, implicit } => {
            let cell = evaluate(input, row, ctx)?;
            cast::cell(cell, &input.ty(), ty, *implicit, ctx, input)
        }
        Expr::Case {
            branches, otherwise, ..
        } => {
            for (condition, value) in branches {
                if truth(&evaluate(condition, row, ctx)?.datum()) == Some(true) {
                    return evaluate(value, row, ctx);
                }
            }
            match otherwise {
                Some(otherwise) => evaluate(otherwise, row, ctx),
                None => Ok(Cell::NULL),
            }
        }
        leaf => evaluate(leaf, row, ctx),
    }
}

/// A parameter's value in the type its expression was bound with.
fn parameter<'a>(index: usize, ty: &types::SqlType, ctx: &'a EvalContext) -> Result<Cell<'a>> {
    let Some(value) = ctx.params.get(index) else {
        return Err(Error::internal(format!("parameter {index} has no value")));
    };
    // An integer may have the variant of the other signedness. All other values have the planned type.
    Ok(match value {
        Value::Int(v) if ty.is_integer() && ty.unsigned && *v >= 0 => Cell::Own(Value::UInt(*v as u64)),
        Value::UInt(v) if ty.is_integer() && !ty.unsigned => match i64::try_from(*v) {
            Ok(v) => Cell::Own(Value::Int(v)),
            Err(_) => Cell::Ref(Datum::UInt(*v)),
        },
        value => {
            ctx.count_value(value)?;
            Cell::Ref(Datum::of(value))
        }
    })
}

/// Evaluates the arguments, without a heap allocation for up to three, and calls the function. `None`: an
/// argument is NULL, and so is the result.
fn scalar<'a, T>(
    call: &Call<'a>,
    eval: fn(&Call<'_>, &[Datum<'_>]) -> Result<T>,
    argument: impl Fn(&'a Expr) -> Result<Cell<'a>>,
) -> Result<Option<T>> {
    let strict = call.def.null_in_null_out;
    match call.args {
        [] => eval(call, &[]).map(Some),
        [a] => {
            let a = argument(a)?;
            if strict && a.is_null() {
                return Ok(None);
            }
            eval(call, &[a.datum()]).map(Some)
        }
        [a, b] => {
            let a = argument(a)?;
            if strict && a.is_null() {
                return Ok(None);
            }
            let b = argument(b)?;
            if strict && b.is_null() {
                return Ok(None);
            }
            eval(call, &[a.datum(), b.datum()]).map(Some)
        }
        args => {
            let mut cells = Vec::with_capacity(args.len());
            for arg in args {
                let cell = argument(arg)?;
                if strict && cell.is_null() {
                    return Ok(None);
                }
                cells.push(cell);
            }
            if let [a, b, c] = cells.as_slice() {
                return eval(call, &[a.datum(), b.datum(), c.datum()]).map(Some);
            }
            let datums: Vec<Datum<'_>> = cells.iter().map(Cell::datum).collect();
            eval(call, &datums).map(Some)
        }
    }
}
