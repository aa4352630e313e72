//! The types of parameters, as derived from the expression around them.
//!
//! MySQL derives them when it prepares a statement, before there are any values (since 8.0.22, its work log
//! 9384). A value that is bound later is converted to the derived type. A value of another kind makes MySQL
//! prepare the statement again, with the types of the values. Derived here are parameters whose type shows in the type of
//! a result, and those that are read as a number of characters, digits or days. A parameter that is compared can have the
//! type of its value, except a number beside a date. `session` converts the values when it executes the statement.

use functions::{Expr, bind};
use types::{Collation, Error, Result, SqlType, TypeKind, Value};

use super::Binder;
use super::context::Context;
use crate::env::{Calculation, MomentUse};
use syntax::ast;

/// Units of intervals that leave a date a date.
const DAYS: &[&str] = &["day", "week", "month", "quarter", "year", "year_month"];

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
        place.announced = announced(ty);
    }
}

/// Notes the types of parameters that a call has just as they are: those that it converts them to.
pub(super) fn announce_arguments(binder: &Binder<'_>, call: &Expr) {
    if binder.env.places.is_none() {
        return;
    }
    let Expr::Call { args, .. } = call else { return };
    for arg in args {
        if let Expr::Cast {
            input,
            ty,
            implicit: true,
        } = arg
            && let Expr::Param { index, .. } = **input
            && !ty.is_string()
        {
            announce(binder, index, *ty);
        }
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
    let mut bound = Vec::with_capacity(args.len());
    for arg in args {
        bound.push(match waits(arg) {
            true => None,
            false => Some(binder.scalar(arg, &apart)?),
        });
    }
    let mut all = Vec::with_capacity(args.len());
    for (position, arg) in args.iter().enumerate() {
        all.push(match (&bound[position], arg) {
            (None, ast::Expr::Parameter(index)) => {
                if is_row_count(function, position) {
                    note_row_count(binder, arg);
                }
                let place = place(binder, function, position, args, &bound, context.parameters);
                let place = match (place, of_argument(function, position, args)) {
                    (None, Some(ty)) if is_read_as_count(function, position, &ty) => Some(ty),
                    (None, Some(ty)) => {
                        announce(binder, *index, ty);
                        None
                    }
                    (place, _) => place,
                };
                // NULLIF shows a date or DECIMAL as it was sent.
                let compared = match (function, place) {
                    ("nullif" | "&" | "|" | "^", None) => beside(bound.iter()),
                    _ => None,
                };
                let is_moment = |ty: &SqlType| ty.is_temporal() || is_computed_as_integer(ty);
                let calculation = calculation(function).filter(|_| place.is_some_and(|ty| is_moment(&ty)));
                let moment = calculation.map_or(MomentUse::AsGiven, MomentUse::Computed);
                as_json_text(
                    binder,
                    function,
                    position,
                    of_place(binder, *index, place, compared, moment)?,
                )
            }
            (Some(expr), _) => expr.clone(),
            (None, arg) => {
                let parameters = place(binder, function, position, args, &bound, context.parameters);
                let context = Context {
                    parameters,
                    ..*context
                };
                binder.scalar(arg, &context)?
            }
        });
    }
    Ok(all.into_iter().map(|expr| shown(binder, expr)).collect())
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

/// Whether a value of the type is an integer of its own kind.
fn is_computed_as_integer(ty: &SqlType) -> bool {
    matches!(ty.kind, TypeKind::Year | TypeKind::Bit)
}

/// Whether a parameter is converted to a number where a function reads one. Others have a use for the text.
fn is_read_as_count(function: &str, position: usize, ty: &SqlType) -> bool {
    let reads_text = matches!(
        (function, position),
        ("conv", 0) | ("if" | "char" | "interval", _)
    );
    *ty == COUNT && !reads_text
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

/// Whether an argument is a number of rows of a window, or of parts of it.
fn is_row_count(function: &str, position: usize) -> bool {
    matches!(
        (function, position),
        ("lag" | "lead" | "nth_value", 1) | ("ntile", 0)
    )
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
            let takes_any = ["coalesce", "ifnull", "greatest", "least"];
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

/// A parameter in a place of this type. `hint`: its type where the statement is prepared, if the place has none.
fn of_place(
    binder: &Binder<'_>,
    index: usize,
    place: Option<SqlType>,
    hint: Option<SqlType>,
    moment: MomentUse,
) -> Result<Expr> {
    if let Some(places) = binder.env.places
        && let Some(derived) = places.borrow_mut().get_mut(index)
    {
        derived.converted = place;
        derived.announced = place.or(derived.announced);
        derived.moment = moment;
    }
    let parameter = binder.parameter(index, place.or(hint))?;
    match place {
        Some(ty) if parameter.ty().is_string() && (ty.is_numeric() || ty.is_temporal()) => match moment {
            MomentUse::Computed(calculation) => bind::cast(parameter, calculation.number(&ty)),
            _ => bind::cast(parameter, ty),
        },
        _ => Ok(parameter),
    }
}

fn widest(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::BigInt => SqlType { length: 21, ..ty },
        TypeKind::Double => SqlType::COMPUTED_DOUBLE,
        _ => ty,
    }
}

/// The type of an argument's place in a call; `None` if the result's type does not depend on it. `around`: the type
/// of the call's own place, which counts if no argument has a type.
fn place(
    binder: &Binder<'_>,
    function: &str,
    position: usize,
    args: &[&ast::Expr],
    bound: &[Option<Expr>],
    around: Option<SqlType>,
) -> Option<SqlType> {
    let text = SqlType::varchar(GUESSED_CHARS, binder.types.collation);
    let of_values = |values: &[Option<Expr>]| match values.iter().all(Option::is_none) {
        true => around.or(Some(text)),
        false => beside(values.iter()),
    };
    match function {
        "+" | "-" | "*" | "/" | "%" | "mod" | "div" => match operand_beside(bound.iter()) {
            None => Some(
                around
                    .filter(SqlType::is_numeric)
                    .unwrap_or(SqlType::COMPUTED_DOUBLE),
            ),
            Some(ty) => Some(ty).filter(|ty| !ty.is_string()),
        },
        "&" | "|" | "^" => operand_beside(bound.iter()).filter(|ty| ty.is_integer() || ty.is_temporal()),
        "<<" | ">>" if position == 1 => Some(COUNT),
        "nullif"
            if position == 0 && of_values(bound).is_some_and(|ty| ty.is_temporal() || ty.is_decimal()) =>
        {
            None
        }
        "coalesce" | "ifnull" | "nullif" | "greatest" | "least" | "case" => of_values(bound),
        "if" | "nth of" if position > 0 => of_values(bound.get(1..).unwrap_or_default()),
        "lag" | "lead" if position != 1 => beside(bound.iter().take(1).chain(bound.iter().skip(2))),
        "lag" | "lead" | "ntile" => Some(COUNT),
        "nth_value" if position == 1 => Some(COUNT),
        "unary -" => Some(
            around
                .filter(SqlType::is_numeric)
                .unwrap_or(SqlType::COMPUTED_DOUBLE),
        ),
        "abs" | "ceil" | "ceiling" | "floor" | "sum" | "avg" => Some(SqlType::COMPUTED_DOUBLE),
        "round" | "truncate" if position == 0 => Some(WIDEST_DECIMAL),
        "date_add" | "date_sub" if position == 0 => match args.get(2) {
            Some(ast::Expr::Keyword(unit)) if DAYS.contains(&unit.as_str()) => Some(SqlType::DATE),
            _ => Some(SqlType::datetime(6)),
        },
        _ => None,
    }
}

/// What a function takes as an argument, whatever the type of its result.
fn of_argument(function: &str, position: usize, args: &[&ast::Expr]) -> Option<SqlType> {
    Some(match (function, position) {
        ("left" | "right" | "repeat" | "lpad" | "rpad" | "format" | "round" | "truncate" | "get_lock", 1)
        | ("week" | "yearweek", 1)
        | ("substring" | "substr" | "mid" | "insert", 1 | 2)
        | ("locate" | "substring_index", 2)
        | ("if" | "space" | "elt" | "from_days", 0)
        | ("makedate" | "conv" | "char" | "interval" | "period_add" | "period_diff", _) => COUNT,
        (
            "acos" | "asin" | "atan" | "atan2" | "cos" | "cot" | "degrees" | "exp" | "ln" | "log" | "log10",
            _,
        )
        | ("log2" | "pow" | "power" | "radians" | "rand" | "sin" | "sleep" | "sqrt" | "tan", _) => {
            SqlType::COMPUTED_DOUBLE
        }
        ("format" | "from_unixtime" | "sec_to_time", 0) => WIDEST_DECIMAL,
        ("date_format" | "unix_timestamp" | "year" | "month" | "quarter" | "week" | "yearweek", 0)
        | ("day" | "dayofmonth" | "dayofweek" | "dayofyear" | "dayname" | "monthname" | "weekday", 0)
        | ("date" | "last_day" | "to_days" | "to_seconds" | "datediff", _) => SqlType::datetime(6),
        ("hour" | "minute" | "second" | "microsecond" | "time_to_sec" | "timediff", _) => SqlType::time(6),
        ("json_extract" | "json_length" | "json_keys" | "json_type" | "json_depth" | "json_pretty", 0) => {
            SqlType::JSON
        }
        ("json_set" | "json_insert" | "json_replace", at) if at % 2 == 0 => SqlType::JSON,
        ("date_add" | "date_sub", 1) => match args.get(2) {
            Some(ast::Expr::Keyword(unit)) if unit == "second" => WIDEST_DECIMAL,
            Some(ast::Expr::Keyword(unit)) if !unit.contains('_') => COUNT,
            _ => return None,
        },
        _ => return None,
    })
}

/// A number of rows.
const COUNT: SqlType = SqlType {
    length: 21,
    ..SqlType::BIGINT
};

const WIDEST_DECIMAL: SqlType = SqlType::decimal(65, 30);

/// The type of a parameter that is compared with a value of type `ty`, or stored as one. MySQL tells the widest of
/// its kind.
fn announced(ty: SqlType) -> Option<SqlType> {
    Some(match ty.kind {
        TypeKind::Json => ty,
        TypeKind::Year => SqlType {
            unsigned: false,
            ..ty
        },
        TypeKind::Bit => SqlType { length: 21, ..ty },
        _ if ty.is_string() && ty.is_binary() => match ty.kind {
            TypeKind::Char | TypeKind::VarChar => SqlType::varchar(u32::from(u16::MAX), ty.collation),
            _ => SqlType {
                kind: TypeKind::LongText,
                length: u32::MAX,
                ..ty
            },
        },
        _ if ty.is_string() => return None,
        _ => return widest_of_kind(ty),
    })
}

/// The type of a parameter among these: the widest type of the others' kind.
fn beside<'e>(others: impl Iterator<Item = &'e Option<Expr>>) -> Option<SqlType> {
    let types: Vec<SqlType> = others.flatten().map(Expr::ty).collect();
    widest_of_kind(bind::common_type(&types))
}

/// The type of a parameter that is calculated with the others: a year or BIT stays one.
fn operand_beside<'e>(others: impl Iterator<Item = &'e Option<Expr>>) -> Option<SqlType> {
    let types: Vec<SqlType> = others.flatten().map(Expr::ty).collect();
    let common = bind::common_type(&types);
    match is_computed_as_integer(&common) {
        true => announced(common),
        false => widest_of_kind(common),
    }
}

fn widest_of_kind(common: SqlType) -> Option<SqlType> {
    Some(match common.kind {
        TypeKind::Null => return None,
        TypeKind::Decimal => WIDEST_DECIMAL,
        TypeKind::Float | TypeKind::Double => SqlType::COMPUTED_DOUBLE,
        TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(6),
        TypeKind::Time => SqlType::time(6),
        TypeKind::Date => SqlType::DATE,
        _ if common.is_integer() => SqlType {
            unsigned: common.unsigned && common.kind != TypeKind::Year,
            length: 21,
            ..SqlType::BIGINT
        },
        _ if common.is_string() => SqlType::varchar(GUESSED_CHARS, common.collation),
        _ => return None,
    })
}

/// The length of a text parameter that has no value yet.
pub(super) const GUESSED_CHARS: u32 = 16_383;
