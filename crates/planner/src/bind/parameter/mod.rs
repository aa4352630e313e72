//! The types of parameters, as derived from the expression around them.
//!
//! - [`place`]: the type of a parameter as an argument of each function and operator.
//! - [`kind`]: of each kind of values the widest type, which parameters have.
//!
//! MySQL derives them when it prepares a statement, before there are any values (since 8.0.22, its work log
//! 9384). A value that is bound later is converted to the derived type. A value of another kind makes MySQL
//! prepare the statement again, with the types of the values.
//!
//! Values are converted here only where the type of a result depends on the parameter, or where it is read as a number of
//! characters, digits or days. Only there do the types of such an execution's values stay for the next. A parameter that is
//! compared is taken as each execution sends it, except a number beside a date. `session` converts the values when it
//! executes the statement.

mod kind;
mod place;

use functions::{Expr, bind};
use types::{Collation, Error, Result, SqlType, TypeKind, Value};

use kind::COUNT;
pub use kind::{GUESSED_CHARS, WIDEST_DECIMAL};
use place::{Call, Effect};

use super::Binder;
use super::context::Context;
use crate::env::{Calculation, MomentUse, PlannedFor};
use syntax::ast;

/// A parameter; `hint` is its type where the statement is prepared without values.
pub(super) fn bind_parameter(binder: &Binder<'_>, index: usize, hint: Option<SqlType>) -> Result<Expr> {
    let ty = if binder.env.params_known {
        let given = binder.env.params.get(index).copied();
        given.ok_or_else(|| Error::internal(format_args!("no type of parameter {index}")))?
    } else {
        let guessed = hint.filter(|ty| ty.kind != TypeKind::Null);
        if let Some(ty) = guessed {
            announce(binder, index, ty);
        }
        guessed.unwrap_or_else(|| SqlType::varchar(GUESSED_CHARS, binder.types.collation))
    };
    Ok(Expr::Param {
        index,
        ty,
        nullable: !binder.env.literal_params || ty.kind == TypeKind::Null,
    })
}

/// Notes the type that a client is told of a parameter, unless one is known.
pub(super) fn announce(binder: &Binder<'_>, index: usize, ty: SqlType) {
    if let Some(places) = binder.env.places
        && let Some(place) = places.borrow_mut().get_mut(index)
        && place.announced.is_none()
    {
        place.announced = kind::announced(ty);
    }
}

/// A parameter whose type shows in a result's: it has the width of its kind's widest number.
pub(super) fn shown(binder: &Binder<'_>, expr: Expr) -> Expr {
    match expr {
        Expr::Param { index, ty, nullable } if !binder.env.literal_params => Expr::Param {
            index,
            ty: widest(ty),
            nullable,
        },
        other => other,
    }
}

/// The arguments of a function or operator. Parameters without a value get derived types, which are
/// reported in `env.places` to the executor of the statement. A text that it gives all the same is converted
/// where it is used.
pub(super) fn operands(
    binder: &Binder<'_>,
    function: &str,
    args: &[&ast::Expr],
    context: &Context<'_>,
) -> Result<Vec<Expr>> {
    let waits = |arg: &ast::Expr| !binder.env.literal_params && is_untyped(arg);
    // An argument that has a type takes none from the call's own place.
    let apart = Context {
        parameters: None,
        ..*context
    };
    if !args.iter().any(|arg| waits(arg)) {
        return args.iter().map(|arg| binder.scalar(arg, &apart)).collect();
    }
    let mut bound = Vec::with_capacity(args.len());
    for arg in args {
        bound.push(match waits(arg) {
            true => None,
            false => Some(binder.scalar(arg, &apart)?),
        });
    }
    let call = Call {
        function,
        args,
        bound: &bound,
        around: context.parameters,
        collation: binder.types.collation,
    };
    let mut untyped = Vec::new();
    for (position, arg) in args.iter().enumerate() {
        if bound[position].is_none() {
            untyped.push(untyped_operand(binder, arg, &call, position, context)?);
        }
    }
    let mut untyped = untyped.into_iter();
    let mut all: Vec<Expr> = bound
        .into_iter()
        .filter_map(|typed| typed.or_else(|| untyped.next()))
        .collect();
    if let Some(first) = place::first_chosen(function) {
        let first = first.min(args.len());
        given_among(&args[first..], &mut all[first..])?;
    }
    Ok(all)
}

/// An argument that takes its type from its place.
fn untyped_operand(
    binder: &Binder<'_>,
    arg: &ast::Expr,
    call: &Call<'_>,
    position: usize,
    context: &Context<'_>,
) -> Result<Expr> {
    let (ty, effect) = call.parameter(position);
    let operand = match arg {
        ast::Expr::Parameter(index) => argument(binder, *index, (call, position), (ty, effect))?,
        arg => {
            let context = Context {
                parameters: Some(ty),
                ..*context
            };
            binder.scalar(arg, &context)?
        }
    };
    let shows = effect == Effect::Shows && matches!(operand, Expr::Param { .. });
    Ok(if shows { shown(binder, operand) } else { operand })
}

/// Among arguments of which one is chosen, a text or point in time that is given for a parameter is read as the result,
/// not as the type of its place.
fn given_among(written: &[&ast::Expr], chosen: &mut [Expr]) -> Result<()> {
    let mut arguments = written.iter().zip(&*chosen);
    if !arguments.any(|(written, argument)| read_at_place(written, argument).is_some()) {
        return Ok(());
    }
    let types: Vec<SqlType> = chosen.iter().map(Expr::ty).collect();
    let result = bind::common_type(&types);
    for (written, argument) in written.iter().zip(chosen) {
        let Some(given) = read_at_place(written, argument) else {
            continue;
        };
        let is_moment = given.ty().is_temporal();
        if result.is_string() || is_moment && result.kind != TypeKind::Time {
            *argument = given.clone();
        } else if !is_moment && (result.is_numeric() || result.is_temporal()) {
            *argument = bind::cast(given.clone(), result)?;
        }
    }
    Ok(())
}

/// What is given for a parameter, if that is a text or point in time which is read as the type of its place.
fn read_at_place<'a>(written: &ast::Expr, argument: &'a Expr) -> Option<&'a Expr> {
    match (written, argument) {
        (ast::Expr::Parameter(_), Expr::Cast { input, .. }) => {
            let ty = input.ty();
            let is_read = ty.is_string() || ty.is_datetime();
            (is_read && matches!(**input, Expr::Param { nullable: true, .. })).then_some(&**input)
        }
        _ => None,
    }
}

/// A parameter as the argument of a call at a position, of the type that it has there.
fn argument(
    binder: &Binder<'_>,
    index: usize,
    (call, position): (&Call<'_>, usize),
    (ty, effect): (SqlType, Effect),
) -> Result<Expr> {
    if place::counts_rows(call.function, position) {
        note_row_count(binder, call.args[position]);
    }
    let parameter = match effect {
        Effect::Shows => {
            let is_spelled = matches!(ty.kind, TypeKind::Year | TypeKind::Bit);
            let moment = match calculation(call.function) {
                Some(calculation) if is_spelled || ty.is_temporal() => MomentUse::Computed(calculation),
                _ if is_spelled => MomentUse::Spelled,
                _ => MomentUse::AsGiven,
            };
            let parameter = of_place(binder, index, ty, moment)?;
            // These take no point in time as a time.
            match matches!(call.function, "timestamp" | "addtime" | "subtime") {
                true => parameter,
                false => time_of_moment(binder, index, ty, parameter)?,
            }
        }
        Effect::None => {
            announce(binder, index, ty);
            binder.parameter(index, Some(ty))?
        }
    };
    Ok(as_json_text(binder, call.function, position, parameter))
}

/// The text of a parameter that is a date or time where `ty`, a text, is stored: without a fraction of a second. `None`
/// for other expressions.
pub(super) fn text_of_moment(binder: &Binder<'_>, source: &Expr, ty: &SqlType) -> Option<Expr> {
    let given = match source {
        Expr::Param { ty: given, .. } if !binder.env.literal_params => given,
        _ => return None,
    };
    if !given.is_temporal() || !ty.is_string() {
        return None;
    }
    let text = SqlType::varchar(u32::MAX, binder.types.collation);
    let text = bind::cast(source.clone(), text).ok()?;
    let point = Expr::literal(Value::from("."), SqlType::varchar(1, binder.types.collation));
    let first = Expr::literal(Value::Int(1), SqlType::BIGINT);
    binder.call("substring_index", vec![text, point, first]).ok()
}

/// A parameter of which a column is made, by a set operation or in a new table: the column holds all values of its
/// kind.
pub(super) fn as_stored(binder: &Binder<'_>, source: Expr) -> Expr {
    match source {
        Expr::Param { index, ty, nullable } if !binder.env.literal_params => {
            let ty = match ty.kind {
                TypeKind::Decimal => WIDEST_DECIMAL,
                TypeKind::VarChar if !ty.is_binary() => {
                    SqlType::varchar(ty.length.max(GUESSED_CHARS), ty.collation)
                }
                _ => ty,
            };
            Expr::Param { index, ty, nullable }
        }
        other => other,
    }
}

/// Notes the parameters that are compared with a date: a number for one of them is read as a date.
pub(super) fn note_compared(binder: &Binder<'_>, written: &[&ast::Expr], bound: &[Expr]) {
    let Some(places) = binder.env.places else { return };
    let is_parameter = |written: &ast::Expr| matches!(written, ast::Expr::Parameter(_));
    let mut others = written
        .iter()
        .zip(bound)
        .filter(|(written, _)| !is_parameter(written));
    if !others.any(|(_, other)| other.ty().is_datetime()) {
        return;
    }
    for written in written {
        if let ast::Expr::Parameter(index) = written
            && let Some(place) = places.borrow_mut().get_mut(*index)
            && place.announced.is_some_and(|ty| ty.is_datetime())
        {
            place.moment = MomentUse::Compared;
        }
    }
}

/// The kind of calculation that an operator makes with dates, times and years.
fn calculation(function: &str) -> Option<Calculation> {
    Some(match function {
        "+" | "-" | "*" | "%" | "mod" => Calculation::Sum,
        "/" => Calculation::Quotient,
        "div" => Calculation::WholeQuotient,
        "&" | "|" | "^" => Calculation::Bits,
        _ => return None,
    })
}

/// The text of a number, date or time that is given for a parameter is binary, and so no name or path for JSON. That
/// of a DECIMAL is not.
fn as_json_text(binder: &Binder<'_>, function: &str, position: usize, parameter: Expr) -> Expr {
    let is_text = match function {
        "json_object" => position.is_multiple_of(2),
        "json_set" | "json_insert" | "json_replace" | "json_array_append" | "json_array_insert" => {
            !position.is_multiple_of(2)
        }
        "json_extract" | "json_remove" | "json_contains_path" => position > 0,
        _ => false,
    };
    let ty = parameter.ty();
    if !is_text || !binder.env.params_known || binder.env.literal_params {
        return parameter;
    }
    match ty.is_integer() || ty.is_float() || ty.is_temporal() {
        true => bind::implicit_cast(parameter, SqlType::varchar(ty.length, Collation::Binary)),
        false => parameter,
    }
}

/// Notes that a parameter is a number of rows of a window.
pub(super) fn note_row_count(binder: &Binder<'_>, written: &ast::Expr) {
    if let ast::Expr::Parameter(index) = written
        && let Some(places) = binder.env.places
        && let Some(place) = places.borrow_mut().get_mut(*index)
    {
        place.counts_rows = true;
        place.announced = Some(COUNT);
    }
}

/// Whether an expression is a parameter, or computed of parameters alone by operations that take any type: its place
/// decides their types.
fn is_untyped(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Parameter(_) => true,
        ast::Expr::Binary { op, left, right } if op.is_arithmetic() => {
            matches!(op.function(), "+" | "-" | "*" | "%" | "mod") && is_untyped(right) && is_untyped(left)
        }
        ast::Expr::Unary {
            op: ast::UnaryOp::Minus,
            operand,
        } => is_untyped(operand),
        ast::Expr::Function { name, args } => {
            let takes_any = [
                "coalesce", "ifnull", "greatest", "least", "abs", "ceil", "ceiling", "floor",
            ];
            let chosen = match args.as_slice() {
                [_, values @ ..] if name.eq_ignore_ascii_case("if") => values,
                args if takes_any.iter().any(|any| name.eq_ignore_ascii_case(any)) => args,
                _ => return false,
            };
            chosen.iter().all(is_untyped)
        }
        ast::Expr::Case {
            branches, otherwise, ..
        } => branches
            .iter()
            .map(|(_, then)| then)
            .chain(otherwise.as_deref())
            .all(is_untyped),
        _ => false,
    }
}

/// A parameter whose values are converted to type `ty`.
fn of_place(binder: &Binder<'_>, index: usize, ty: SqlType, moment: MomentUse) -> Result<Expr> {
    // A calculation says itself as which number it takes a YEAR or BIT (`Calculation::number`).
    let converted = match moment {
        MomentUse::Computed(_) => ty,
        _ => kind::computed(ty),
    };
    if let Some(places) = binder.env.places
        && let Some(derived) = places.borrow_mut().get_mut(index)
    {
        derived.converted = Some(converted);
        derived.announced = kind::announced(ty);
        derived.moment = moment;
    }
    let parameter = binder.parameter(index, Some(converted))?;
    let is_read = |ty: &SqlType| ty.is_numeric() || ty.is_temporal();
    if !parameter.ty().is_string() || !is_read(&ty) {
        return Ok(parameter);
    }
    // A text that is no value of the type.
    let read_as = match (binder.env.planned_for, moment) {
        (PlannedFor::ExecuteByValues(types), _) => types.get(index).copied().flatten(),
        (_, MomentUse::Computed(calculation)) => Some(calculation.number(&ty)),
        _ => Some(converted),
    };
    match read_as.filter(is_read) {
        Some(ty) => bind::cast(parameter, ty),
        None => Ok(parameter),
    }
}

/// A point in time at the place of a time: its time of day.
fn time_of_moment(binder: &Binder<'_>, index: usize, place: SqlType, parameter: Expr) -> Result<Expr> {
    let expected = match binder.env.planned_for {
        PlannedFor::ExecuteByValues(types) => types.get(index).copied().flatten(),
        _ => Some(place),
    };
    match expected {
        Some(ty) if ty.kind == TypeKind::Time && parameter.ty().is_datetime() => bind::cast(parameter, ty),
        _ => Ok(parameter),
    }
}

/// The type of a parameter that is computed with: the width of its kind's widest number.
fn widest(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::BigInt => SqlType { length: 21, ..ty },
        TypeKind::Double => SqlType::COMPUTED_DOUBLE,
        _ => ty,
    }
}
