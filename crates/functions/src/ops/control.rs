//! IF, IFNULL, NULLIF, COALESCE, GREATEST, LEAST and INTERVAL().
//!
//! Source: manual 12.5 "Flow Control Functions", 12.4.2 "Comparison Functions".

use std::cmp::Ordering;

use types::temporal::DateTime;
use types::{Result, SqlType, TypeKind, Value, errno};

use crate::bind::arguments::{condition, implicit_cast, text_length, text_type};
use crate::bind::compare::{ComparisonKind, pair, resolve_converted};
use crate::bind::env::TypeEnv;
use crate::bind::{collation, common, fraction};
use crate::datum::{Cell, Datum};
use crate::datum::{compare_same, to_decimal, to_double};
use crate::eval::row::evaluate;
use crate::eval::speculate;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::input::Row;
use crate::registry::{Family, MANY, function, lazy};
use crate::temporal::{self, DateRules};
use crate::truth::truth;
use crate::{Expr, common_type};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    lazy("if", 3, 3, resolve_if, if_then_else).nullability(Nullability::Branches),
    lazy("nth of", 2, MANY, resolve_nth, nth).nullability(Nullability::Branches),
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
    // The two functions above, for dates and texts in a numeric context.
    function("greatest moment", 1, MANY, resolve_converted, |c, a| {
        extreme_moment(c, a, c.ty, Ordering::Greater)
    }),
    function("least moment", 1, MANY, resolve_converted, |c, a| {
        extreme_moment(c, a, c.ty, Ordering::Less)
    }),
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

/// A number, from 0, and values, which get a common type like the columns of a UNION.
fn resolve_nth(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    match binding.args.get_mut(1..) {
        Some(values) => common::unify(values, "UNION", binding.env),
        None => Ok(SqlType::NULL),
    }
}

/// The value with the given number. The others are not evaluated.
fn nth<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let Some((number, values)) = call.args.split_first() else {
        return Ok(Cell::NULL);
    };
    let number = evaluate(number, row, call.ctx)?.datum().int();
    match usize::try_from(number).ok().and_then(|n| values.get(n)) {
        Some(value) => evaluate(value, row, call.ctx),
        None => Ok(Cell::NULL),
    }
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

/// Rewrites the arguments to: the value, then both sides of the comparison.
fn resolve_nullif(binding: &mut Binding<'_>) -> Result<SqlType> {
    let Ok([value, other]) = <[Expr; 2]>::try_from(std::mem::take(&mut binding.args)) else {
        return Ok(SqlType::NULL);
    };
    let mut ty = value.ty();
    let result = if ty.is_temporal() {
        // MySQL returns dates as text.
        ty = text_type(&ty, binding.env.collation);
        implicit_cast(value.clone(), ty)
    } else {
        value.clone()
    };
    let (a, b) = pair(value, other, "nullif", binding.env, ComparisonKind::Nullif)?;
    binding.args.extend([result, a, b]);
    Ok(ty)
}

fn nullif<'a>(call: &Call<'a>, row: &Row<'a>) -> Result<Cell<'a>> {
    let [value, a, b] = call.args else {
        return Ok(Cell::NULL);
    };
    let left = evaluate(a, row, call.ctx)?;
    let right = evaluate(b, row, call.ctx)?;
    let ordering = crate::compare::compare(&left.datum(), &right.datum(), &a.ty(), &b.ty());
    if ordering == Some(Ordering::Equal) {
        return Ok(Cell::NULL);
    }
    evaluate(value, row, call.ctx)
}

fn resolve_extreme(binding: &mut Binding<'_>) -> Result<SqlType> {
    // MySQL compares the texts of documents.
    for arg in binding
        .args
        .iter_mut()
        .filter(|arg| arg.ty().kind == TypeKind::Json)
    {
        let document = std::mem::replace(arg, Expr::null());
        *arg = implicit_cast(document, text_of_document());
    }
    let types: Vec<SqlType> = binding.args.iter().map(Expr::ty).collect();
    if types.iter().any(|t| t.kind == TypeKind::Null) {
        return Ok(common_type(&types));
    }
    let dates = types.iter().any(SqlType::is_datetime);
    let common = common_type(&types);
    if !common.is_string() || !dates {
        return common::unify(&mut binding.args, binding.name, binding.env);
    }
    // Dates among other values are compared as points in time. The result is text in the format of the type
    // `moment`, which becomes the last argument.
    let moment = moment_of(&binding.args, binding.env);
    let length = types.iter().map(text_length).max().unwrap_or(0);
    let collation = collation::of_result(
        &binding.args.iter().collect::<Vec<_>>(),
        binding.env.collation,
        binding.name,
    )?;
    binding.args.push(implicit_cast(
        Expr::literal(Value::UInt(0), SqlType::DATE),
        moment,
    ));
    Ok(SqlType::varchar(length.max(text_length(&moment)), collation))
}

/// The type of a document's text.
fn text_of_document() -> SqlType {
    SqlType {
        kind: TypeKind::LongText,
        ..SqlType::varchar(u32::MAX, types::Collation::Utf8mb4Bin)
    }
}

/// The type that dates and other values are compared as: DATETIME if there is one, else DATE.
fn moment_of(args: &[Expr], env: &TypeEnv) -> SqlType {
    let types = || args.iter().map(Expr::ty);
    if types()
        .filter(SqlType::is_datetime)
        .all(|ty| ty.kind == TypeKind::Date)
    {
        return SqlType::DATE;
    }
    let is_text_parameter = |arg: &Expr| matches!(arg, Expr::Param { .. }) && arg.ty().is_string();
    if env.literal_params && args.iter().any(is_text_parameter) {
        env.notes.needs_literals.set(true);
    }
    SqlType::datetime(fraction::of_moments(args))
}

/// The greatest or least date. A value that is no date counts as the zero date, with a warning.
fn extreme_moment(call: &Call<'_>, args: &[Datum<'_>], moment: SqlType, wanted: Ordering) -> Result<Value> {
    let mut best: Option<DateTime> = None;
    for (position, datum) in args.iter().enumerate() {
        let ty = call.arg_type(position);
        let rules = match ty.is_temporal() {
            true => DateRules::ANY,
            false => DateRules::of_mode(&call.ctx.sql_mode),
        };
        let found = speculate::attempt(|| temporal::to_datetime(*datum, &ty, call.ctx, rules));
        let found = match found.ok().flatten() {
            Some(found) => found,
            None => {
                no_date(call, datum, &ty, &moment)?;
                DateTime::unpack(0)
            }
        };
        let found = if moment.kind == TypeKind::Date {
            found.date()
        } else {
            found
        };
        if best.is_none_or(|best| found.pack().cmp(&best.pack()) == wanted) {
            best = Some(found);
        }
    }
    Ok(best.map_or(Value::Null, |best| Value::UInt(best.pack())))
}

fn no_date(call: &Call<'_>, datum: &Datum<'_>, ty: &SqlType, moment: &SqlType) -> Result<()> {
    let kind = if moment.kind == TypeKind::Date {
        "date"
    } else {
        "datetime"
    };
    let beside = call.args.iter().find(|arg| arg.ty().is_datetime());
    let column = match beside {
        Some(Expr::Column { label, .. }) => label.name().unwrap_or_default().to_owned(),
        Some(other) => crate::print::expr(other, Some(call.ctx)),
        None => String::new(),
    };
    let text = datum.to_value().display_text(ty);
    call.ctx.conversion_lost(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Incorrect {kind} value: '{text}' for column '{column}' at row 1"),
    )
}

fn extreme(call: &Call<'_>, args: &[Datum<'_>], wanted: Ordering) -> Result<Value> {
    if call.ty.is_string()
        && let (Some(moment), Some((_, args))) = (call.args.last().map(Expr::ty), args.split_last())
        && moment.is_datetime()
    {
        let best = extreme_moment(call, args, moment, wanted)?;
        return Ok(match best {
            Value::Null => Value::Null,
            // Without a date the texts are compared.
            Value::UInt(0) => extreme_text(call, args, wanted),
            best => Value::String(best.display_text(&moment)),
        });
    }
    let collation = call.arg_type(0).collation;
    let mut best: Option<Datum<'_>> = None;
    for datum in args {
        let better = match best {
            None => true,
            Some(current) => compare_same(datum, &current, collation) == Some(wanted),
        };
        if better {
            best = Some(*datum);
        }
    }
    Ok(best.map_or(Value::Null, |d| d.to_value()))
}

/// The greatest or least of the values as texts.
fn extreme_text(call: &Call<'_>, args: &[Datum<'_>], wanted: Ordering) -> Value {
    let text =
        |(position, datum): (usize, &Datum<'_>)| datum.to_value().display_text(&call.arg_type(position));
    let texts = args.iter().enumerate().map(text);
    let better = |best: String, text: String| {
        let ordering = call.ty.collation.compare(text.as_bytes(), best.as_bytes());
        if ordering == wanted { text } else { best }
    };
    texts.reduce(better).map_or(Value::Null, Value::String)
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

/// How many of the other arguments, which are in ascending order, are not above the first. NULLs are counted.
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
