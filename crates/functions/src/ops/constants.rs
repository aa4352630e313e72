//! Conversions of one side of a comparison that are not plain casts: of texts that are compared with dates,
//! and of index keys.
//!
//! Statements cannot call them. [`crate::bind::compare`] and [`crate::bind::key`] create the calls.

use types::temporal::DateTime;
use types::{Charset, Decimal, Error, Result, SqlType, TypeKind, Value, Warning, errno};

use crate::assign::integer_range;
use crate::bind::compare::resolve_converted;
use crate::bind::compare::{
    BIGINT_CONSTANT, DATETIME_CONSTANT, DATETIME_LIST_ITEM, DATETIME_LIST_PARAMETER, DATETIME_NUMBER,
    DATETIME_OPERAND, DATETIME_PARAMETER, TIME_CONSTANT, YEAR_BEGINNING, YEAR_CONSTANT,
};
use crate::bind::key::KEY_TEXT;
use crate::cast::number::full_year;
use crate::charset;
use crate::context::Strictness;
use crate::datum::Datum;
use crate::expr::{Binding, Call, Expr, FunctionDef};
use crate::registry::{Family, function};
use crate::temporal::parse::{self, DateRules, ParsedDateTime};
use crate::temporal::{self, date_place};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function(DATETIME_CONSTANT, 2, 3, resolve_converted, datetime_constant),
    function(DATETIME_LIST_ITEM, 2, 3, resolve_converted, datetime_list_item),
    function(DATETIME_PARAMETER, 2, 2, resolve_converted, |c, a| {
        datetime_parameter(c, a, DateRules::IMPOSSIBLE)
    }),
    function(DATETIME_LIST_PARAMETER, 2, 2, resolve_converted, |c, a| {
        datetime_parameter(c, a, DateRules::ANY)
    }),
    function(DATETIME_NUMBER, 2, 3, resolve_converted, datetime_number),
    function(DATETIME_OPERAND, 2, 3, resolve_converted, datetime_operand),
    function(TIME_CONSTANT, 2, 2, resolve_converted, time_constant),
    function(YEAR_CONSTANT, 2, 2, resolve_converted, year_constant),
    function(YEAR_BEGINNING, 2, 2, resolve_converted, year_beginning),
    function(BIGINT_CONSTANT, 1, 1, resolve_converted, bigint_constant),
    function("frame offset", 1, 1, resolve_frame_offset, frame_offset).sees_null(),
    function("key exact", 1, 1, resolve_converted, |c, a| key(c, a, 0)),
    function("key down", 1, 1, resolve_converted, |c, a| key(c, a, -1)),
    function("key up", 1, 1, resolve_converted, |c, a| key(c, a, 1)),
    function(KEY_TEXT, 2, 2, resolve_converted, key_text),
];

fn resolve_frame_offset(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(binding.args.first().map_or(SqlType::NULL, Expr::ty))
}

/// The offset of a RANGE frame. Error 3586 if it is NULL or negative.
fn frame_offset(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let is_offset = match args.first() {
        None | Some(Datum::Null) => false,
        Some(Datum::Int(offset)) => *offset >= 0,
        Some(Datum::Double(offset)) => *offset >= 0.0,
        Some(Datum::Decimal(offset)) => !offset.is_negative(),
        Some(_) => true,
    };
    match args.first() {
        Some(offset) if is_offset => Ok(offset.to_value()),
        _ => Err(crate::window::wrong_frame()),
    }
}

/// Bytes as a key of a text column, whose name is the second argument. Bytes that are no text of its character set equal
/// none of its values: NULL, with warning 1366, in writes, too.
fn key_text(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [bytes, Datum::String(name)] = args else {
        return Ok(Value::Null);
    };
    let bytes = bytes.bytes();
    let charset = call.ty.collation.charset();
    if let Some(text) = charset::decode(bytes, charset) {
        return Ok(Value::String(text));
    }
    let bytes = charset.whole_characters(bytes);
    let (_, valid) = charset.decode_prefix(&bytes);
    let wrong = charset::incorrect_string(bytes.get(valid..).unwrap_or_default(), Charset::Binary);
    call.ctx.warn(
        errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
        format!("{wrong} for column '{name}' at row 1"),
    )?;
    Ok(Value::Null)
}

/// The name of the other side's type.
fn target<'a>(args: &[Datum<'a>]) -> &'a str {
    match args.get(1) {
        Some(Datum::String(name)) => name,
        _ => "DATETIME",
    }
}

/// The name of the other side's column, if it is one.
fn column<'a>(args: &[Datum<'a>]) -> Option<&'a str> {
    match args.get(2) {
        Some(Datum::String(name)) => Some(*name).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// 1292 for a text that is not a date: an error in strict DML, else a warning.
fn no_date(call: &Call<'_>, args: &[Datum<'_>]) -> Result<()> {
    let kind = match target(args) {
        "DATE" => "date",
        _ => "datetime",
    };
    let text = first_shown(call, args);
    let message = match column(args) {
        Some(column) => format!("Incorrect {kind} value: '{text}' for column '{column}' at row 1"),
        None => format!("Truncated incorrect {kind} value: '{text}'"),
    };
    call.ctx.conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)
}

/// A constant text that is compared with a date: error 1525 if it is not a date; in strict DML 1292.
fn datetime_constant(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    match read_constant(call, args)? {
        Some(packed) => Ok(Value::UInt(packed)),
        None => {
            if call.ctx.strictness == Strictness::Error {
                no_date(call, args)?;
            }
            let text = first_shown(call, args);
            Err(Error::new(
                1525,
                format!("Incorrect {} value: '{text}'", target(args)),
            ))
        }
    }
}

/// A constant text in IN or BETWEEN. If it is not a date, it becomes the zero date, with warning 1292.
fn datetime_list_item(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    match read_constant(call, args)? {
        Some(packed) => Ok(Value::UInt(packed)),
        None => {
            no_date(call, args)?;
            Ok(Value::UInt(0))
        }
    }
}

/// A prepared statement's parameter that is compared with a date. It has the date's type, and is NULL, with
/// warning 1292, if it is not a date. `rules`: whether days that their month does not have may be compared.
fn datetime_parameter(call: &Call<'_>, args: &[Datum<'_>], rules: DateRules) -> Result<Value> {
    let found = read(call, args, rules, |parsed| {
        let (code, message) = (errno::ER_TRUNCATED_WRONG_VALUE, truncated(call, args, parsed));
        match rules == DateRules::ANY {
            true => call.ctx.conversion_lost(code, message),
            false => call.ctx.warn(code, message),
        }
    });
    match found? {
        Some(packed) => Ok(Value::UInt(packed)),
        None => {
            let text = first_shown(call, args);
            call.ctx.conversion_lost(
                errno::ER_TRUNCATED_WRONG_VALUE,
                format!("Incorrect datetime value: '{text}'"),
            )?;
            Ok(Value::Null)
        }
    }
}

/// A text that is not constant and is compared with a date. If it is not a date, it becomes the zero date, with warning
/// 1292; in strict DML, the error. The third argument is the name of the date's column, or empty; without it, the warning
/// speaks of the text alone.
fn datetime_operand(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let names_date = args.len() > 2;
    let found = match names_date {
        true => read(call, args, DateRules::ANY, |_| no_date(call, args))?,
        false => read(call, args, DateRules::ANY, |parsed| {
            call.ctx
                .conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, truncated(call, args, parsed))
        })?,
    };
    match found {
        Some(packed) if call.ty.kind == TypeKind::Date => {
            Ok(Value::UInt(DateTime::unpack(packed).date().pack()))
        }
        Some(packed) => Ok(Value::UInt(packed)),
        None => {
            if names_date {
                no_date(call, args)?;
            } else {
                let message = format!("Incorrect datetime value: '{}'", first_shown(call, args));
                call.ctx
                    .conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
            }
            Ok(Value::UInt(0))
        }
    }
}

/// A number that is compared with a column of dates becomes the date of its digits. If they are not a date,
/// it is compared by its position among the numbers of dates.
fn datetime_number(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let split = temporal::split_moment(datum, call.ctx);
    let found = split.and_then(|(whole, nano)| temporal::number_to_datetime(whole, nano, DateRules::ANY));
    if column(args).is_some() {
        let rules = DateRules::IMPOSSIBLE;
        let found = split.and_then(|(whole, nano)| temporal::number_to_datetime(whole, nano, rules));
        if let Some(stored) = stored_date(call, args, found)? {
            return Ok(Value::UInt(stored.pack()));
        }
    }
    let place = match (found, split) {
        (Some(found), _) => found,
        (None, Some((whole, nano))) => date_place::of_number(whole, nano, target(args) == "DATE"),
        (None, None) => {
            let negative = crate::datum::to_decimal(datum).is_negative();
            date_place::of_number(if negative { -1 } else { i64::MAX }, 0, false)
        }
    };
    Ok(Value::UInt(place.pack()))
}

/// The date as a column stores it, with warning 1292 if the number says more than that. `None`, with the warning, if
/// the column cannot store it.
fn stored_date(call: &Call<'_>, args: &[Datum<'_>], found: Option<DateTime>) -> Result<Option<DateTime>> {
    let is_date = target(args) == "DATE";
    let number = args.first().and_then(temporal::split_number);
    let rounded = found.and_then(|at| temporal::fit(&at, call.ty.decimals, call.ctx));
    let stored = rounded.filter(|at| target(args) != "TIMESTAMP" || temporal::is_timestamp(at, call.ctx));
    let is_fraction_of_day = number.is_some_and(|(whole, nano)| nano != 0 && temporal::is_date_number(whole));
    let message = || {
        let kind = if is_date { "date" } else { "datetime" };
        let (text, name) = (first_shown(call, args), column(args).unwrap_or_default());
        format!("Incorrect {kind} value: '{text}' for column '{name}' at row 1")
    };
    let Some(stored) = stored.filter(|_| !is_fraction_of_day) else {
        call.ctx
            .conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message())?;
        return Ok(stored);
    };
    if is_date && stored.time_of_day_us() != 0 {
        // Outside of strict modes MySQL leaves the time out silently.
        if call.ctx.sql_mode.strict {
            call.ctx
                .report(Warning::note(errno::ER_TRUNCATED_WRONG_VALUE, message()))?;
        }
        return Ok(Some(stored.date()));
    }
    Ok(Some(stored))
}

fn shown(call: &Call<'_>, datum: &Datum<'_>) -> String {
    datum.to_value().display_text(&call.arg_type(0))
}

fn first_shown(call: &Call<'_>, args: &[Datum<'_>]) -> String {
    args.first().map_or_else(String::new, |d| shown(call, d))
}

/// The message of a text that continues behind its date.
fn truncated(call: &Call<'_>, args: &[Datum<'_>], parsed: &ParsedDateTime) -> String {
    let kind = if parsed.has_time { "datetime" } else { "date" };
    format!("Truncated incorrect {kind} value: '{}'", first_shown(call, args))
}

fn read_constant(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<u64>> {
    let rules = DateRules::of_mode(&call.ctx.sql_mode);
    read(call, args, rules, |_| no_date(call, args))
}

/// Constants must be dates that the mode allows; other values may be any date that can be stored. `cut`: what
/// happens if other text follows.
fn read(
    call: &Call<'_>,
    args: &[Datum<'_>],
    rules: DateRules,
    cut: impl Fn(&ParsedDateTime) -> Result<()>,
) -> Result<Option<u64>> {
    let text = args.first().map_or(&b""[..], |d| d.bytes());
    let Some(parsed) = parse::datetime(text, rules.under(&call.ctx.sql_mode)) else {
        return Ok(None);
    };
    if parsed.truncated {
        cut(&parsed)?;
    }
    temporal::warn_delimiter(parsed.delimiter, text, call.ctx)?;
    Ok(temporal::complete(&parsed, call.ctx).map(|d| d.pack()))
}

/// A constant text that is compared with a TIME column, as the column would store it.
fn time_constant(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let time = temporal::to_time(*datum, &call.arg_type(0), call.ctx)?;
    let stored = |us| Value::Int(temporal::fit_time(us, call.ty.decimals, call.ctx));
    Ok(time.map_or(Value::Null, stored))
}

/// A YEAR that is compared with a date: the date of this year that comes before all others.
fn year_beginning(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let year = args.first().map_or(0, Datum::int);
    let beginning = DateTime {
        year: u16::try_from(year).unwrap_or_default(),
        ..DateTime::default()
    };
    Ok(Value::UInt(beginning.pack()))
}

/// Converts a constant that is compared with a YEAR column as if it were stored: to whole years, two digits
/// to four. A value that cannot be stored is not converted.
fn year_constant(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let text = matches!(datum, Datum::String(_) | Datum::Bytes(_));
    if let (Datum::UInt(packed), true) = (datum, call.arg_type(0).is_datetime()) {
        return Ok(Value::Int(i64::from(DateTime::unpack(*packed).year)));
    }
    if let Datum::Double(beyond @ 2155.0..) = datum
        && *beyond > 2155.0
        && call.ty.is_float()
    {
        return Ok(Value::Double(*beyond));
    }
    let number = match datum {
        _ if text => {
            let parsed = crate::cast::number_text::parse_double(datum.bytes());
            // Text after a number is ignored. If there is no number, the text is compared as the double 0.
            if !parsed.complete && parsed.value == 0.0 {
                let message = format!("Truncated incorrect DOUBLE value: '{}'", shown(call, datum));
                call.ctx
                    .conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
            }
            let short_zero = parsed.complete && parsed.value == 0.0 && (1..=2).contains(&datum.bytes().len());
            if short_zero {
                Decimal::from_i64(2000)
            } else {
                Decimal::from_f64(parsed.value).unwrap_or(Decimal::ZERO)
            }
        }
        other => crate::datum::to_decimal(other),
    };
    let whole = match datum {
        Datum::Double(v) if *v <= 2155.0 => number.truncate(0),
        _ => number.round(0).unwrap_or(number),
    };
    let year = whole
        .to_i64()
        .filter(|_| !number.is_negative())
        .and_then(full_year)
        .map_or(number, Decimal::from_u64);
    Ok(match call.ty.kind {
        TypeKind::Decimal => Value::Decimal(year),
        TypeKind::Double | TypeKind::Float => Value::Double(year.to_f64()),
        _ if call.ty.unsigned => year.to_u64().map_or(Value::Null, Value::UInt),
        _ => year.to_i64().map_or(Value::Null, Value::Int),
    })
}

/// A DOUBLE that is compared with a BIGINT column: an integer as itself, other numbers between the integers
/// around them.
fn bigint_constant(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    /// More than any BIGINT.
    const BEYOND: i128 = 100_000_000_000_000_000_000;
    let value = args.first().map_or(0.0, crate::datum::to_double);
    let floor = (value.floor() as i128).clamp(-BEYOND, BEYOND);
    Ok(Value::Decimal(match value.fract() == 0.0 {
        true => Decimal::from_i128(floor, 0),
        false => Decimal::from_i128(floor * 10 + 5, 1),
    }))
}

/// A constant as a key of a column's type; see [`crate::bind::key_cast`]. `direction`: -1 down, 0 exact, 1
/// up.
fn key(call: &Call<'_>, args: &[Datum<'_>], direction: i8) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    let ty = &call.ty;
    Ok(match ty.kind {
        TypeKind::Float | TypeKind::Double => {
            let wanted = crate::datum::to_double(datum);
            float_key(wanted, ty.kind == TypeKind::Float, direction)
        }
        TypeKind::Decimal => match datum {
            // The comparison is one of doubles, so every DECIMAL that rounds to the same double must be read.
            Datum::Double(_) => return double_key(datum, ty, direction),
            exact => decimal_key(&crate::datum::to_decimal(exact), ty, direction),
        },
        _ if ty.is_integer() => match datum {
            Datum::Int(v) => clamp_integer(Some(i128::from(*v)), *v < 0, ty, direction),
            Datum::UInt(v) => clamp_integer(Some(i128::from(*v)), false, ty, direction),
            Datum::Double(v) => integer_key(*v, ty, direction),
            exact => {
                let exact = crate::datum::to_decimal(exact);
                let rounded = rounded(&exact, direction);
                match rounded {
                    Some(d) => clamp_integer(d.to_i128(), d.is_negative(), ty, direction),
                    None => Value::Null,
                }
            }
        },
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => datetime_key(datum, ty, direction),
        TypeKind::Time => time_key(datum, ty, direction),
        _ => datum.to_value(),
    })
}

/// The nearest integer not above (`direction` -1), not below (1), or equal (0).
fn rounded(exact: &Decimal, direction: i8) -> Option<Decimal> {
    match direction {
        -1 => exact.floor(),
        1 => exact.ceil(),
        _ => exact.floor().filter(|f| f == exact),
    }
}

/// The integer in the column's type. Out of its range, it becomes the nearest end of the range if rows can
/// still match, else NULL.
fn clamp_integer(value: Option<i128>, negative: bool, ty: &types::SqlType, direction: i8) -> Value {
    let (min, max) = integer_range(ty);
    let value = value.unwrap_or(if negative { i128::MIN } else { i128::MAX });
    let inside = match direction {
        -1 if value > max => max,
        1 if value < min => min,
        _ if (min..=max).contains(&value) => value,
        _ => return Value::Null,
    };
    match ty.arrow_type() {
        arrow::datatypes::DataType::UInt64 => Value::UInt(inside as u64),
        _ => Value::Int(inside as i64),
    }
}

/// An integer column is compared with a double as doubles: beyond 2^53 several integers are one double.
fn integer_key(wanted: f64, ty: &types::SqlType, direction: i8) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if wanted.abs() < EXACT {
        let whole = match direction {
            -1 => wanted.floor(),
            1 => wanted.ceil(),
            _ if wanted.fract() == 0.0 => wanted,
            _ => return Value::Null,
        };
        return clamp_integer(Some(whole as i128), whole < 0.0, ty, direction);
    }
    // Doubles with the magnitude of 64-bit integers are at most 2048 apart.
    let margin = i128::from(direction) * -2048;
    clamp_integer(
        Some((wanted as i128).saturating_add(margin)),
        wanted < 0.0,
        ty,
        direction,
    )
}

fn float_key(wanted: f64, single: bool, direction: i8) -> Value {
    if !single {
        return Value::Double(wanted);
    }
    let near = wanted as f32;
    let key = match direction {
        0 if f64::from(near) == wanted => near,
        0 => return Value::Null,
        -1 if f64::from(near) > wanted => near.next_down(),
        1 if f64::from(near) < wanted => near.next_up(),
        _ => near,
    };
    if key.is_finite() {
        Value::Double(f64::from(key))
    } else {
        Value::Double(f64::from(f32::MAX.copysign(key)))
    }
}

fn decimal_key(exact: &Decimal, ty: &types::SqlType, direction: i8) -> Value {
    let scale = ty.decimals;
    let cut = exact.truncate(i32::from(scale));
    let Some(cut) = cut.rescale(scale) else {
        return end_of_decimals(exact.is_negative(), ty, direction);
    };
    let step = Decimal::from_i128(1, scale);
    let key = match direction {
        0 if cut == *exact => Some(cut),
        0 => None,
        -1 if cut > *exact => cut.sub(&step),
        1 if cut < *exact => cut.add(&step),
        _ => Some(cut),
    };
    match key {
        None => Value::Null,
        Some(k) if u32::from(k.digits()) <= ty.length => Value::Decimal(k),
        Some(k) => end_of_decimals(k.is_negative(), ty, direction),
    }
}

fn end_of_decimals(negative: bool, ty: &types::SqlType, direction: i8) -> Value {
    let max = Decimal::max_value(u8::try_from(ty.length).unwrap_or(65), ty.decimals);
    match (direction, negative) {
        (-1, false) => Value::Decimal(max),
        (1, true) => Value::Decimal(max.neg()),
        _ => Value::Null,
    }
}

/// A DECIMAL column is compared with a double as doubles. A margin includes all decimals that round to that
/// double.
fn double_key(datum: &Datum<'_>, ty: &types::SqlType, direction: i8) -> Result<Value> {
    let wanted = datum.double();
    let widened = match direction {
        -1 => wanted.next_up(),
        1 => wanted.next_down(),
        _ => wanted,
    };
    Ok(match Decimal::from_f64(widened) {
        Some(exact) => decimal_key(&exact, ty, direction),
        None => end_of_decimals(wanted < 0.0, ty, direction),
    })
}

fn datetime_key(datum: &Datum<'_>, ty: &types::SqlType, direction: i8) -> Value {
    let Datum::UInt(packed) = datum else {
        return Value::Null;
    };
    let value = DateTime::unpack(*packed);
    let zeros = ty.kind != TypeKind::Timestamp;
    let value = match direction {
        _ if date_place::is_stored(&value, zeros) => Some(value),
        0 => None,
        -1 => Some(date_place::below(&value, zeros)),
        _ => date_place::above(&value, zeros),
    };
    let Some(value) = value else {
        return Value::Null;
    };
    let cut = if ty.kind == TypeKind::Date {
        value.date()
    } else {
        value.truncate(ty.decimals)
    };
    if cut == value {
        return Value::UInt(cut.pack());
    }
    match direction {
        0 => Value::Null,
        -1 => Value::UInt(cut.pack()),
        _ => date_place::next(&cut, ty.kind == TypeKind::Date, ty.decimals, zeros)
            .map_or(Value::Null, |next| Value::UInt(next.pack())),
    }
}

fn time_key(datum: &Datum<'_>, ty: &types::SqlType, direction: i8) -> Value {
    let Datum::Int(us) = datum else { return Value::Null };
    let unit = i64::from(types::temporal::fsp_unit(ty.decimals));
    let floor = us.div_euclid(unit) * unit;
    match direction {
        _ if floor == *us => Value::Int(floor),
        0 => Value::Null,
        -1 => Value::Int(floor),
        _ => Value::Int(floor + unit),
    }
}
