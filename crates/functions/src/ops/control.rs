//! IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST and INTERVAL().
//!
//! Source: manual 12.5 "Flow Control Functions", 12.4.2 "Comparison Functions".

use std::cmp::Ordering;

use types::{Result, SqlType, TypeKind, Value};

use super::comparison::{compare_same, to_decimal, to_double};
use super::logic::truth;
use crate::bind::arguments::{condition, implicit_cast, text_type};
use crate::bind::compare::{Place, pair};
use crate::bind::{Binding, common};
use crate::datum::{Cell, Datum};
use crate::eval::row::evaluate;
use crate::eval::{Call, Row};
use crate::registry::{Family, FunctionDef, MANY, Nullability, function, lazy};
use crate::temporal::{self, DateRules};
use crate::{Expr, common_type};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    lazy("if", 3, 3, resolve_if, if_then_else).nullability(Nullability::Branches),
    lazy("ifnull", 2, 2, resolve_coalesce, coalesce).nullability(Nullability::AllArguments),
    lazy("coalesce", 1, MANY, resolve_coalesce, coalesce).nullability(Nullability::AllArguments),
    lazy("nullif", 2, 2, resolve_nullif, nullif).nullability(Nullability::Always),
    function("greatest", 2, MANY, resolve_extreme, |c, a| {
        extreme(c, a, Ordering::Greater)
    })
    .nullability(Nullability::AnyArgument),
    function("least", 2, MANY, resolve_extreme, |c, a| {
        extreme(c, a, Ordering::Less)
    })
    .nullability(Nullability::AnyArgument),
    function("interval", 2, MANY, resolve_interval, interval)
        .sees_null()
        .nullability(Nullability::Never)
        .infallible(),
];

fn resolve_if(binding: &mut Binding<'_>) -> Result<SqlType> {
    if let Some(first) = binding.args.first_mut() {
        let expr = std::mem::replace(first, Expr::null());
        *first = condition(expr);
    }
    match binding.args.get_mut(1..) {
        Some(values) => common::unify(values, "if", binding.env),
        None => Ok(SqlType::NULL),
    }
}

fn if_then_else<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let [condition, then, otherwise] = call.args else {
        return Ok(Cell::NULL);
    };
    let holds = truth(&evaluate(condition, row, call.ctx)?.datum()) == Some(true);
    evaluate(if holds { then } else { otherwise }, row, call.ctx)
}

fn resolve_coalesce(binding: &mut Binding<'_>) -> Result<SqlType> {
    common::unify(&mut binding.args, binding.name, binding.env)
}

fn coalesce<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    for arg in call.args {
        let cell = evaluate(arg, row, call.ctx)?;
        if !cell.is_null() {
            return Ok(cell);
        }
    }
    Ok(Cell::NULL)
}

/// The arguments become: the value, then both sides of the comparison.
fn resolve_nullif(binding: &mut Binding<'_>) -> Result<SqlType> {
    let Ok([value, other]) = <[Expr; 2]>::try_from(std::mem::take(&mut binding.args)) else {
        return Ok(SqlType::NULL);
    };
    let mut ty = value.ty();
    let result = if ty.is_temporal() {
        // MySQL hands dates on as text.
        ty = text_type(&ty, binding.env.collation);
        implicit_cast(value.clone(), ty)
    } else {
        value.clone()
    };
    let (a, b) = pair(value, other, "nullif", binding.env, Place::Operator)?;
    binding.args.extend([result, a, b]);
    Ok(ty)
}

fn nullif<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let [value, a, b] = call.args else {
        return Ok(Cell::NULL);
    };
    let left = evaluate(a, row, call.ctx)?;
    let right = evaluate(b, row, call.ctx)?;
    let ordering = super::comparison::compare(&left.datum(), &right.datum(), &a.ty(), &b.ty());
    if ordering == Some(Ordering::Equal) {
        return Ok(Cell::NULL);
    }
    evaluate(value, row, call.ctx)
}

fn resolve_extreme(binding: &mut Binding<'_>) -> Result<SqlType> {
    let types: Vec<SqlType> = binding.args.iter().map(Expr::ty).collect();
    if types.iter().any(|t| t.kind == TypeKind::Null) {
        return Ok(common_type(&types));
    }
    let dates = types.iter().any(SqlType::is_datetime);
    let common = common_type(&types);
    if !common.is_string() || !dates {
        return common::unify(&mut binding.args, binding.name, binding.env);
    }
    // Dates with other values: compared as points in time, answered as text. Numbers are read as dates first.
    for i in 0..binding.args.len() {
        if binding.ty(i).is_numeric() {
            binding.cast(i, SqlType::DATE);
        }
    }
    let all = 0..binding.args.len();
    let length = all
        .clone()
        .map(|i| crate::bind::arguments::text_length(&binding.ty(i)))
        .max();
    binding.texts(all)?;
    Ok(SqlType::varchar(length.unwrap_or(0), binding.ty(0).collation))
}

fn extreme(call: &Call<'_>, args: &[Datum<'_>], wanted: Ordering) -> Result<Value> {
    let as_dates = call.ty.is_string() && call.args.iter().any(was_date);
    let collation = call.arg_type(0).collation;
    let mut best: Option<Datum<'_>> = None;
    for datum in args {
        let better = match best {
            None => true,
            Some(current) if as_dates => {
                let now = temporal::to_datetime(*datum, &call.ty, call.ctx, DateRules::ANY)?;
                let then = temporal::to_datetime(current, &call.ty, call.ctx, DateRules::ANY)?;
                now.map(|d| d.pack()).cmp(&then.map(|d| d.pack())) == wanted
            }
            Some(current) => compare_same(datum, &current, collation) == Some(wanted),
        };
        if better {
            best = Some(*datum);
        }
    }
    Ok(best.map_or(Value::Null, |d| d.to_value()))
}

/// Whether an argument was a date before it was made text.
fn was_date(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast { input, implicit: true, .. } if input.ty().is_datetime())
}

fn resolve_interval(binding: &mut Binding<'_>) -> Result<SqlType> {
    for i in 0..binding.args.len() {
        binding.number(i);
    }
    Ok(SqlType {
        length: 2,
        ..SqlType::BIGINT
    })
}

/// How many of the other arguments, which ascend, are not above the first. NULLs among them count.
fn interval(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some((needle, list)) = args.split_first() else {
        return Ok(Value::Null);
    };
    if needle.is_null() {
        return Ok(Value::Int(-1));
    }
    let double = args.iter().any(|d| matches!(d, Datum::Double(_)));
    let above = |d: &Datum<'_>| {
        if d.is_null() {
            return false;
        }
        if double {
            to_double(d) > to_double(needle)
        } else {
            to_decimal(d) > to_decimal(needle)
        }
    };
    let position = list.iter().position(above).unwrap_or(list.len());
    Ok(Value::Int(position as i64))
}
