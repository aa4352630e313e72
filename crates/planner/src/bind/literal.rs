//! Literals: their values and types.

use std::borrow::Cow;

use functions::bind::literal_type;
use functions::{EvalContext, Expr};
use types::{Charset, Collation, Decimal, Error, Result, SqlType, TypeKind, Value, Warning, errno};

use super::{Binder, collation};
use crate::errno::ER_WRONG_VALUE;
use syntax::ast::{self, Introducer, NumberText, TemporalKind};

/// Hexadecimal and bit literals of up to this many bytes are numbers where a number is needed.
const NUMBER_BYTES: usize = 8;

/// The literal, or `None` for any other expression.
pub(super) fn bind_literal(binder: &Binder<'_>, expr: &ast::Expr) -> Result<Option<Expr>> {
    Ok(Some(match expr {
        ast::Expr::Null => Expr::null(),
        ast::Expr::Bool(value) => Expr::literal(Value::Int(i64::from(*value)), SqlType::BOOL),
        ast::Expr::Number(text) => number(binder, text, false)?,
        ast::Expr::Unary {
            op: ast::UnaryOp::Minus,
            operand,
        } => match operand.as_ref() {
            ast::Expr::Number(text) => number(binder, text, true)?,
            _ => return Ok(None),
        },
        ast::Expr::Text(text) => client_text(binder, text),
        ast::Expr::Keyword(word) => binder.keyword(word),
        ast::Expr::Bytes(bytes) => {
            // Unsigned: a number where one is wanted, unlike `_binary'text'`.
            let ty = SqlType {
                unsigned: true,
                ..literal_type(bytes.len(), Collation::Binary)
            };
            Expr::literal(Value::Bytes(bytes.clone()), ty)
        }
        ast::Expr::Introduced {
            charset,
            bytes,
            quoted,
        } => introduced(binder, charset, bytes, *quoted)?,
        ast::Expr::Temporal { kind, text, is_odbc } => match temporal(binder, *kind, text) {
            // The text of a definition keeps no difference between them.
            Err(_) if *is_odbc && binder.in_definition.is_none() && binder.resolution.is_none() => {
                client_text(binder, text)
            }
            bound => bound?,
        },
        _ => return Ok(None),
    }))
}

/// `DATE '...'`, `TIME '...'` and `TIMESTAMP '...'`: the whole text must be such a value.
fn temporal(binder: &Binder<'_>, kind: TemporalKind, text: &str) -> Result<Expr> {
    let (ty, name) = match kind {
        TemporalKind::Date => (SqlType::DATE, "DATE"),
        TemporalKind::Time => (SqlType::time(fraction_digits(text)), "TIME"),
        TemporalKind::Timestamp => (SqlType::datetime(fraction_digits(text)), "DATETIME"),
    };
    let context = EvalContext {
        // A literal is rounded to microseconds in any mode.
        sql_mode: types::SqlMode {
            time_truncate_fractional: false,
            ..binder.env.sql_mode
        },
        time_zone: binder.env.time_zone,
        ..EvalContext::default()
    };
    let written = literal_type(text.chars().count(), binder.types.collation);
    let cast = functions::bind::cast(Expr::literal(Value::String(text.to_owned()), written), ty)?;
    let incorrect = || Error::new(ER_WRONG_VALUE, format!("Incorrect {name} value: '{text}'"));
    let value = functions::eval_value(&cast, &context).map_err(|_| incorrect())?;
    let (warnings, _) = context.warnings.take();
    let is_odd_only = warnings.iter().all(|w| ODD_DELIMITERS.contains(&w.code));
    let is_of_kind = match kind {
        TemporalKind::Date => !functions::spells_time_of_day(text),
        TemporalKind::Time => !functions::spells_point_in_time(text),
        TemporalKind::Timestamp => functions::spells_time_of_day(text),
    };
    if value.is_null() || !is_odd_only || !is_of_kind {
        return Err(incorrect());
    }
    for warning in warnings {
        binder.warn_each_time(warning);
    }
    Ok(Expr::literal(value, ty))
}

/// The bytes of a literal, read in its character set. MySQL keeps bytes that are invalid in it unchanged,
/// with a warning; only `_utf8mb4 x'ff'` is an error. See [`functions::ill_formed_text`] for what such a
/// literal is here.
fn introduced(binder: &Binder<'_>, introducer: &Introducer, bytes: &[u8], quoted: bool) -> Result<Expr> {
    let bytes = &match quoted {
        true => as_sent(binder, bytes),
        false => Cow::Borrowed(bytes),
    };
    let charset = match introducer {
        Introducer::Named(name) => collation::charset_of_expression(binder, name)?,
        Introducer::National => collation::national_charset(binder),
        Introducer::Client => return of_client(binder, bytes),
    };
    if charset == Charset::Binary {
        return Ok(binary(bytes));
    }
    // A definition stores what the text means.
    if binder.in_definition.is_some()
        && quoted
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        let ty = literal_type(text.chars().count(), charset.default_collation());
        return Ok(Expr::literal(Value::from(text), ty));
    }
    let bytes = &charset.whole_characters(bytes);
    if let Some(text) = functions::text_of(bytes, charset) {
        let ty = literal_type(text.chars().count(), charset.default_collation());
        return Ok(Expr::literal(Value::String(text), ty));
    }
    if !quoted && charset.max_bytes_per_char() > 1 {
        let message = charset.invalid_message(bytes);
        return Err(Error::new(errno::ER_INVALID_CHARACTER_STRING, message));
    }
    invalid(binder, bytes, charset);
    Ok(functions::ill_formed_text(bytes, charset.default_collation()))
}

/// What a client wrote as a text, as it was sent: the parser has made UTF-8 of it where it could.
fn as_sent<'b>(binder: &Binder<'_>, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let client = binder.env.charset_client;
    if client.is_utf8() || client.holds_ascii() && bytes.is_ascii() {
        return Cow::Borrowed(bytes);
    }
    let mut sent = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        sent.extend_from_slice(&client.encode(chunk.valid()));
        sent.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(sent)
}

/// A literal in the client's character set, which is not `latin1`: that has all bytes.
fn of_client(binder: &Binder<'_>, bytes: &[u8]) -> Result<Expr> {
    let client = binder.env.charset_client;
    if let Some(text) = functions::text_of(bytes, client) {
        return Ok(client_text(binder, &text));
    }
    if client == Charset::Binary {
        return Ok(binary(bytes));
    }
    if client == binder.types.collation.charset() {
        invalid(binder, bytes, client);
        return Ok(functions::ill_formed_text(bytes, binder.types.collation));
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if client.has(c) {
                text.push(c);
            } else {
                text.extend(std::iter::repeat_n('?', c.len_utf8()));
            }
        }
        text.extend(std::iter::repeat_n('?', chunk.invalid().len()));
    }
    not_converted(binder, bytes, client);
    Ok(in_connection(binder, &text))
}

/// A text of the client, in the character set of the connection.
fn client_text(binder: &Binder<'_>, text: &str) -> Expr {
    let collation = binder.types.collation;
    if !collation.charset().has_all_of(text) {
        not_converted(binder, text.as_bytes(), binder.env.charset_client);
        return in_connection(binder, text);
    }
    if collation.charset() == Charset::Binary {
        return binary(text.as_bytes());
    }
    let ty = literal_type(text.chars().count(), collation);
    Expr::literal(Value::String(text.to_owned()), ty)
}

fn in_connection(binder: &Binder<'_>, text: &str) -> Expr {
    let collation = binder.types.collation;
    let charset = collation.charset();
    if charset == Charset::Binary {
        return binary(text.as_bytes());
    }
    let shown: String = if charset.has_all_of(text) {
        text.to_owned()
    } else {
        let restricted = text.chars().map(|c| if charset.has(c) { c } else { '?' });
        restricted.collect()
    };
    let ty = literal_type(shown.chars().count(), collation);
    Expr::literal(Value::String(shown), ty)
}

/// A hexadecimal or bit literal where a number is needed: the number its bytes are. More bytes than a number
/// has are 0, with a warning.
pub(super) fn as_number(binder: &Binder<'_>, written: &ast::Expr, bound: Expr) -> Expr {
    let (ast::Expr::Bytes(bytes), true) = (written, bound.ty().is_binary()) else {
        return bound;
    };
    let mut number = 0;
    if bytes.len() > NUMBER_BYTES {
        binder.not_cacheable();
        binder.warn(Warning::warning(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!(
                "Truncated incorrect BINARY value: '{}'",
                hex_text(bytes).to_ascii_lowercase()
            ),
        ));
    } else {
        number = bytes
            .iter()
            .fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    }
    Expr::literal(Value::UInt(number), SqlType::BIGINT_UNSIGNED)
}

/// The same where the number is stored in a column: one that is too long is the largest that fits.
pub(super) fn as_stored_number(binder: &Binder<'_>, written: &ast::Expr, bound: Expr) -> Expr {
    match written {
        ast::Expr::Bytes(bytes) if bytes.len() > NUMBER_BYTES => bound,
        written => as_number(binder, written, bound),
    }
}

fn invalid(binder: &Binder<'_>, bytes: &[u8], charset: Charset) {
    binder.warn_each_time(Warning::warning(
        errno::ER_INVALID_CHARACTER_STRING,
        charset.invalid_message(bytes),
    ));
}

fn not_converted(binder: &Binder<'_>, bytes: &[u8], from: Charset) {
    binder.warn_each_time(Warning::warning(
        errno::ER_INVALID_CHARACTER_STRING,
        functions::cannot_convert_text(bytes, from, binder.types.collation.charset()),
    ));
}

/// The form in which warnings show the bytes of a literal that is not a number.
fn hex_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("x'{digits}'")
}

fn binary(bytes: &[u8]) -> Expr {
    Expr::literal(
        Value::Bytes(bytes.to_vec()),
        literal_type(bytes.len(), Collation::Binary),
    )
}

/// The warning about a date whose separators are not the standard ones.
const ODD_DELIMITERS: [u16; 2] = [4095, 4096];

/// Digits of a fraction as written, 6 at most.
fn fraction_digits(text: &str) -> u8 {
    let fraction = text
        .trim_end()
        .rsplit_once('.')
        .map_or("", |(_, fraction)| fraction);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    digits.min(6) as u8
}

/// A number is an integer where 64 bits hold it, else a DECIMAL.
fn number(binder: &Binder<'_>, text: &NumberText, negative: bool) -> Result<Expr> {
    match text {
        NumberText::Integer(digits) => {
            integer(digits, negative).map_or_else(|| decimal(binder, digits, negative), Ok)
        }
        NumberText::Decimal(digits) => decimal(binder, digits, negative),
        NumberText::Float(digits) => {
            let number: f64 = digits.parse().unwrap_or(f64::INFINITY);
            if number.is_infinite() {
                return Err(Error::new(
                    errno::ER_ILLEGAL_VALUE_FOR_TYPE,
                    format!("Illegal double '{digits}' value found during parsing"),
                ));
            }
            Ok(Expr::literal(
                Value::Double(if negative { -number } else { number }),
                SqlType::DOUBLE,
            ))
        }
    }
}

fn integer(digits: &str, negative: bool) -> Option<Expr> {
    let magnitude: u64 = digits.parse().ok()?;
    let width = magnitude.checked_ilog10().unwrap_or(0) + 2;
    let signed = SqlType {
        length: width,
        ..SqlType::BIGINT
    };
    if negative {
        // -9223372036854775808 has no positive counterpart.
        let value = 0_i64.checked_sub_unsigned(magnitude)?;
        return Some(Expr::literal(Value::Int(value), signed));
    }
    Some(match i64::try_from(magnitude) {
        Ok(value) => Expr::literal(Value::Int(value), signed),
        Err(_) => Expr::literal(Value::UInt(magnitude), SqlType::BIGINT_UNSIGNED),
    })
}

/// A number whose whole part a DECIMAL holds, with as much of its fraction.
fn of_first_digits(text: &str) -> Option<Decimal> {
    let (whole, fraction) = text.split_once('.')?;
    let used = whole.trim_start_matches('0').len();
    let room = usize::from(Decimal::MAX_DIGITS).checked_sub(used)?;
    let fraction = fraction.get(..room.min(fraction.len()))?;
    Decimal::parse(&format!("{whole}.{fraction}"))
}

/// The longest whole part that MySQL reads.
const WHOLE_DIGITS_MAX: usize = 81;

/// The largest DECIMAL for a number whose whole part MySQL cannot read. The warning shows the part's end.
fn of_too_many_digits(binder: &Binder<'_>, text: &str) -> Option<Decimal> {
    let whole = text.split('.').next()?;
    let extra = whole.len().checked_sub(WHOLE_DIGITS_MAX)?;
    if whole.trim_start_matches('0').len() <= WHOLE_DIGITS_MAX {
        return None;
    }
    binder.warn_each_time(Warning::warning(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Truncated incorrect DECIMAL value: '{}'", whole.get(extra..)?),
    ));
    Some(Decimal::max_value(Decimal::MAX_DIGITS, 0))
}

fn decimal(binder: &Binder<'_>, digits: &str, negative: bool) -> Result<Expr> {
    let too_large = || {
        Error::new(
            errno::ER_ILLEGAL_VALUE_FOR_TYPE,
            format!("Illegal decimal '{digits}' value found during parsing"),
        )
    };
    let text = digits.trim_end_matches('.');
    let value = Decimal::parse(text).or_else(|| of_first_digits(text));
    let value = value
        .or_else(|| of_too_many_digits(binder, text))
        .ok_or_else(too_large)?;
    let value = if negative { value.neg() } else { value };
    let precision = u32::from(value.digits()).max(written_digits(text, value.scale));
    Ok(Expr::literal(
        Value::Decimal(value),
        SqlType::decimal(precision, value.scale),
    ))
}

/// The digits of a number as it is written. Zeros before others count, but of a whole part of zeros alone only one.
fn written_digits(text: &str, scale: u8) -> u32 {
    let whole = text.split('.').next().unwrap_or_default();
    let whole = match whole.trim_start_matches('0') {
        "" => whole.len().min(1),
        _ => whole.len(),
    };
    let most = usize::from(Decimal::MAX_DIGITS);
    ((whole + usize::from(scale)).clamp(1, most)) as u32
}

/// Whether the type makes a hexadecimal literal in the same operation a number.
pub fn wants_number(ty: &SqlType) -> bool {
    ty.is_numeric() && ty.kind != TypeKind::Null
}
