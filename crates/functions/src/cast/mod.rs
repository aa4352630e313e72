//! Conversions between all types, explicit and implicit, with MySQL's results and warnings.
//!
//! - [`number`]: to integers, DECIMAL, DOUBLE, YEAR; [`number_text`]: the numbers that text begins with.
//! - [`text`]: to strings and binary data.
//! - Dates and times are [`crate::temporal`]'s, JSON is [`crate::json`]'s.
//!
//! Not here: which conversions a call needs ([`crate::bind`]); conversions in INSERT and UPDATE
//! ([`crate::assign`]).

pub(crate) mod conversion;
pub(crate) mod loss;
pub(crate) mod members;
pub(crate) mod number;
pub(crate) mod number_text;
pub(crate) mod text;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use types::array::ColumnBuilder;
use types::json::JsonView;
use types::temporal::Time;
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use self::conversion::Conversion;
use crate::datum::{Cell, Datum};
use crate::eval::output::append;
use crate::json::loss::JsonLoss;
use crate::temporal::{self, DateRules};
use crate::{EvalContext, Expr};

/// Converts one value.
pub(crate) fn cell<'a>(
    cell: Cell<'a>,
    from: &SqlType,
    to: &SqlType,
    implicit: bool,
    ctx: &EvalContext,
    input: &Expr,
) -> Result<Cell<'a>> {
    if cell.is_null() {
        return Ok(Cell::NULL);
    }
    if keeps_value(from, to, implicit) {
        return Ok(cell);
    }
    let conversion = Conversion {
        from: *from,
        to: *to,
        implicit,
        ctx,
        input,
    };
    datum(cell.datum(), &conversion).map(Cell::Own)
}

/// The integer that ALTER TABLE reads from a column of another type. A TEXT or BLOB is read without warnings.
///
/// # Errors
/// 1292 in strict mode.
pub fn copied_integer(value: &Value, from: &SqlType, ctx: &EvalContext) -> Result<Value> {
    let input = Expr::null();
    let lenient = EvalContext::default();
    let conversion = Conversion {
        from: *from,
        to: SqlType::BIGINT,
        implicit: false,
        ctx: if from.is_blob_or_text() { &lenient } else { ctx },
        input: &input,
    };
    datum(Datum::of(value), &conversion)
}

/// The BIGINT that ALTER TABLE reads from a JSON number for a BIT column: an unsigned number keeps its bits. `None` for other
/// documents, and for numbers that need no rule of their own.
///
/// # Errors
/// 3155 in strict mode, for a number that is too large.
pub fn copied_json_integer(
    value: &Value,
    column: &str,
    row_number: u64,
    ctx: &EvalContext,
) -> Result<Option<Value>> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let Value::Json(document) = value else {
        return Ok(None);
    };
    let number = match document.root().view() {
        JsonView::UInt(number) => return Ok(Some(Value::Int(number.cast_signed()))),
        JsonView::Double(number) => number,
        JsonView::Decimal(number) => number.to_f64(),
        _ => return Ok(None),
    };
    if (-LIMIT..LIMIT).contains(&number) {
        return Ok(None);
    }
    let (code, reason) = JsonLoss::OutOfRange.code();
    let message = format!("{reason} JSON value for CAST to INTEGER from column {column} at row {row_number}");
    ctx.conversion_lost(code, message)?;
    Ok(Some(Value::Int(if number < 0.0 { i64::MIN } else { i64::MAX })))
}

/// The number that ALTER TABLE reads from a text for a DECIMAL column. MySQL's warnings name neither the column nor the row;
/// what follows the number in a TEXT or BLOB is ignored. `None` for too many digits.
///
/// # Errors
/// 1366 and 1292 in strict mode.
pub fn copied_decimal(value: &Value, from: &SqlType, ctx: &EvalContext) -> Result<Option<types::Decimal>> {
    let datum = Datum::of(value);
    let text = datum.bytes();
    let parsed = types::Decimal::parse_prefix(text);
    if parsed.cut == Some(types::decimal::Cut::Integer) {
        let message = format!("Truncated incorrect DECIMAL value: '{}'", held_digits(text));
        ctx.conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
    }
    if parsed.cut.is_some() {
        let message = format!(
            "Truncated incorrect DECIMAL value: '{}'",
            value.display_text(from)
        );
        ctx.conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
    }
    if parsed.overflow {
        return Ok(None);
    }
    let is_number = parsed.consumed > 0;
    if !is_number {
        let message = "Incorrect DECIMAL value: '0' for column '' at row -1";
        ctx.conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, message)?;
    }
    let rest = text.get(parsed.consumed..).unwrap_or_default();
    if !(from.is_blob_or_text() || (is_number && rest.iter().all(u8::is_ascii_whitespace))) {
        let message = format!(
            "Truncated incorrect DECIMAL value: '{}'",
            value.display_text(from)
        );
        ctx.conversion_lost(errno::ER_TRUNCATED_WRONG_VALUE, message)?;
    }
    Ok(Some(parsed.value))
}

/// The digits before the point that MySQL's buffer of 81 digits holds, with their sign.
fn held_digits(number: &[u8]) -> String {
    let number = number.trim_ascii_start();
    let sign = number.iter().take_while(|byte| **byte == b'-').count();
    let digits = number[sign..].iter().take_while(|byte| byte.is_ascii_digit());
    let end = sign + digits.count().min(81);
    String::from_utf8_lossy(&number[..end]).into_owned()
}

/// Whether every value of `from` is a value of `to` without a conversion.
fn keeps_value(from: &SqlType, to: &SqlType, implicit: bool) -> bool {
    use TypeKind::*;
    match to.kind {
        _ if from == to => true,
        Null => true,
        Date | DateTime | Timestamp | Time => {
            let same = from.kind == to.kind || from.is_datetime() && to.is_datetime() && to.kind != Date;
            same && (from.decimals <= to.decimals || from.kind == Date)
        }
        Double => from.is_float(),
        TinyInt | SmallInt | MediumInt | Int | BigInt => {
            from.is_integer() && (from.unsigned == to.unsigned || from.kind == Year && to.unsigned)
                || from.has_members() && to.unsigned
        }
        Char | VarChar | TinyText | Text | MediumText | LongText => {
            let unlimited = implicit || to.length == u32::MAX;
            from.is_string()
                && unlimited
                && from.is_binary() == to.is_binary()
                && (to.collation.charset() == from.collation.charset()
                    || to.collation.charset() == types::Charset::Utf8mb4)
        }
        _ => false,
    }
}

/// Converts a value that is not NULL.
pub(crate) fn datum(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    use TypeKind::*;
    let to = &conversion.to;
    if let Datum::Json(json) = value
        && (to.is_string() || to.has_members() || matches!(to.kind, Year | Bit))
    {
        return datum(Datum::String(&json.to_text()), conversion);
    }
    if let Some(converted) = members::from_stored(value, conversion) {
        return converted;
    }
    match to.kind {
        Null => Ok(value.to_value()),
        Enum(_) | Set(_) => Ok(members::number_of_text(value, to)),
        Bit => number::to_unsigned(value, conversion),
        TinyInt | SmallInt | MediumInt | Int | BigInt if to.unsigned => {
            number::to_unsigned(value, conversion)
        }
        TinyInt | SmallInt | MediumInt | Int | BigInt => number::to_signed(value, conversion),
        Year => number::to_year(value, conversion),
        Decimal => number::to_decimal(value, conversion),
        Float | Double => number::to_double(value, conversion),
        Date | DateTime | Timestamp => to_datetime(value, conversion),
        Time => to_time(value, conversion),
        Char | VarChar | TinyText | Text | MediumText | LongText => text::to_text(value, conversion),
        Json => crate::json::convert::cast(value, conversion).map(Value::Json),
    }
}

fn to_datetime(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let (ctx, to) = (conversion.ctx, &conversion.to);
    // A stored value is not changed, even if the mode forbids zero dates.
    let rules = if conversion.from.is_datetime() {
        DateRules::ANY
    } else {
        DateRules::of_mode(&ctx.sql_mode)
    };
    let found = match value {
        Datum::Json(json) => match crate::json::convert::datetime(json, rules) {
            Some(parsed) => temporal::complete(&parsed, ctx),
            None => {
                conversion.invalid_json(crate::json::convert::MOMENT)?;
                None
            }
        },
        value => temporal::to_datetime(value, &conversion.from, ctx, rules)?,
    };
    let Some(found) = found else {
        return Ok(Value::Null);
    };
    if to.kind == TypeKind::Date {
        return Ok(Value::UInt(found.date().pack()));
    }
    match temporal::fit(&found, to.decimals, ctx) {
        Some(rounded) => Ok(Value::UInt(rounded.pack())),
        None => {
            temporal::overflow(ctx)?;
            Ok(Value::Null)
        }
    }
}

fn to_time(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let found = match value {
        Datum::Json(json) => match crate::json::convert::time(json) {
            Some(parsed) => Some(Time(parsed.rounded(conversion.ctx)).clamped().0),
            None => {
                conversion.invalid_json(crate::json::convert::MOMENT)?;
                None
            }
        },
        value => temporal::to_time(value, &conversion.from, conversion.ctx)?,
    };
    Ok(found.map_or(Value::Null, |us| {
        Value::Int(temporal::fit_time(us, conversion.to.decimals, conversion.ctx))
    }))
}

/// Converts an array.
pub(crate) fn array(
    array: &ArrayRef,
    from: &SqlType,
    to: &SqlType,
    implicit: bool,
    ctx: &EvalContext,
    input: &Expr,
) -> Result<ArrayRef> {
    if keeps_value(from, to, implicit) && to.kind != TypeKind::Null {
        return Ok(array.clone());
    }
    if to.kind == TypeKind::Double
        && (from.is_integer() || matches!(from.kind, TypeKind::Enum(_)))
        && let Some(doubles) = to_doubles(array)
    {
        return Ok(doubles);
    }
    if from.is_integer()
        && let Some(decimals) = to_decimals(array, to)
    {
        return Ok(decimals);
    }
    if implicit && from.has_members() && to.is_string() && !to.is_binary() {
        return members::texts(array, from, to);
    }
    let conversion = Conversion {
        from: *from,
        to: *to,
        implicit,
        ctx,
        input,
    };
    // A text that is compared with an exact number keeps its own scale, but an array has one scale for all
    // values.
    let mut out = ColumnBuilder::new(to, array.len());
    for i in 0..array.len() {
        let value = Datum::at(array.as_ref(), i)?;
        if value.is_null() {
            out.append_null();
        } else {
            let converted = datum(value, &conversion)?;
            append(&mut out, Datum::of(&converted), to)?;
        }
    }
    Ok(out.finish())
}

/// Numbers as doubles.
fn to_doubles(array: &ArrayRef) -> Option<ArrayRef> {
    let doubles: Float64Array = match array.data_type() {
        DataType::Int64 => array
            .as_primitive::<Int64Type>()
            .unary::<_, Float64Type>(|v| v as f64),
        DataType::UInt64 => array
            .as_primitive::<UInt64Type>()
            .unary::<_, Float64Type>(|v| v as f64),
        _ => return None,
    };
    Some(Arc::new(doubles))
}

/// Integers as decimals that can represent all of them.
fn to_decimals(array: &ArrayRef, to: &SqlType) -> Option<ArrayRef> {
    const DIGITS_OF_64_BITS: u32 = 20;
    let DataType::Decimal128(..) = to.arrow_type() else {
        return None;
    };
    if to.decimals != 0 || to.length < DIGITS_OF_64_BITS {
        return None;
    }
    let decimals: Decimal128Array = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().unary(i128::from),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary(i128::from),
        _ => return None,
    };
    Some(Arc::new(decimals.with_data_type(to.arrow_type())))
}

/// Refuses types that `CAST` does not accept.
pub(crate) fn check_explicit(to: &SqlType) -> Result<()> {
    if to.kind == TypeKind::Decimal {
        if to.decimals > types::Decimal::MAX_SCALE {
            return Err(Error::new(
                errno::ER_TOO_BIG_SCALE,
                format!(
                    "Too big scale {} specified for column 'CAST'. Maximum is 30.",
                    to.decimals
                ),
            ));
        }
        if to.length > u32::from(types::Decimal::MAX_DIGITS) {
            return Err(Error::new(
                errno::ER_TOO_BIG_PRECISION,
                format!(
                    "Too-big precision {} specified for 'CAST'. Maximum is 65.",
                    to.length
                ),
            ));
        }
        if u32::from(to.decimals) > to.length {
            return Err(Error::new(
                errno::ER_M_BIGGER_THAN_D,
                "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').",
            ));
        }
    }
    if to.is_temporal() && to.decimals > 6 {
        return Err(Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!(
                "Too-big precision {} specified for 'CAST'. Maximum is 6.",
                to.decimals
            ),
        ));
    }
    Ok(())
}
