//! Literals: their values and types.

use functions::bind::literal_type;
use functions::{EvalContext, Expr};
use types::collation::latin1_to_utf8;
use types::{Charset, Collation, Decimal, Error, Result, SqlType, TypeKind, Value, errno};

use super::Binder;
use super::collation::charset_named;
use crate::ast::{self, NumberText, TemporalKind};
use crate::errno::ER_WRONG_VALUE;

/// Hexadecimal and bit literals of up to this many bytes are numbers where a number is needed.
const NUMBER_BYTES: usize = 8;

impl Binder<'_> {
    /// The literal, or `None` for any other expression.
    pub fn literal(&self, expr: &ast::Expr) -> Result<Option<Expr>> {
        Ok(Some(match expr {
            ast::Expr::Null => Expr::null(),
            ast::Expr::Bool(value) => Expr::literal(Value::Int(i64::from(*value)), SqlType::BOOL),
            ast::Expr::Number(text) => number(text, false)?,
            ast::Expr::Unary {
                op: ast::UnaryOp::Minus,
                operand,
            } => match operand.as_ref() {
                ast::Expr::Number(text) => number(text, true)?,
                _ => return Ok(None),
            },
            ast::Expr::Text(text) => {
                let ty = literal_type(text.chars().count(), self.types.collation);
                Expr::literal(Value::String(text.clone()), ty)
            }
            ast::Expr::Bytes(bytes) => {
                // Unsigned: a number where one is wanted, unlike `_binary'text'`.
                let ty = SqlType {
                    unsigned: true,
                    ..literal_type(bytes.len(), Collation::Binary)
                };
                Expr::literal(Value::Bytes(bytes.clone()), ty)
            }
            ast::Expr::Introduced { charset, bytes } => self.introduced(charset, bytes)?,
            ast::Expr::Temporal { kind, text } => self.temporal(*kind, text)?,
            _ => return Ok(None),
        }))
    }

    /// `DATE '...'` and its like: the text must be one, whole.
    fn temporal(&self, kind: TemporalKind, text: &str) -> Result<Expr> {
        let (ty, name) = match kind {
            TemporalKind::Date => (SqlType::DATE, "DATE"),
            TemporalKind::Time => (SqlType::time(fraction_digits(text)), "TIME"),
            TemporalKind::Timestamp => (SqlType::datetime(fraction_digits(text)), "DATETIME"),
        };
        let context = EvalContext {
            // A literal is rounded to microseconds in any mode.
            sql_mode: functions::SqlMode {
                time_truncate_fractional: false,
                ..self.env.sql_mode
            },
            time_zone: self.env.time_zone,
            ..EvalContext::default()
        };
        let written = literal_type(text.chars().count(), self.types.collation);
        let cast = functions::bind::cast(Expr::literal(Value::String(text.to_owned()), written), ty)?;
        let incorrect = || Error::new(ER_WRONG_VALUE, format!("Incorrect {name} value: '{text}'"));
        let value = functions::eval_value(&cast, &context).map_err(|_| incorrect())?;
        let (warnings, _) = context.warnings.take();
        let is_odd_only = warnings.iter().all(|w| ODD_DELIMITERS.contains(&w.code));
        let is_of_kind = kind != TemporalKind::Time || !functions::spells_point_in_time(text);
        if value.is_null() || !is_odd_only || !is_of_kind {
            return Err(incorrect());
        }
        for warning in warnings {
            // The next execution has to say so as well.
            self.not_cacheable();
            self.warn(warning);
        }
        Ok(Expr::literal(value, ty))
    }

    /// The bytes, read in the named character set.
    fn introduced(&self, charset: &str, bytes: &[u8]) -> Result<Expr> {
        let charset = charset_named(charset)?;
        let in_charset = |value| Expr::literal(value, literal_type(bytes.len(), charset.default_collation()));
        match charset {
            Charset::Binary => return Ok(in_charset(Value::Bytes(bytes.to_vec()))),
            Charset::Latin1 => return Ok(in_charset(Value::String(latin1_to_utf8(bytes)))),
            Charset::Utf8mb4 | Charset::Ascii => {}
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if charset != Charset::Ascii || text.is_ascii() => {
                let ty = literal_type(text.chars().count(), charset.default_collation());
                Ok(Expr::literal(Value::String(text.to_owned()), ty))
            }
            _ => {
                let shown: String = bytes.iter().take(6).map(|b| format!("\\x{b:02X}")).collect();
                Err(Error::new(
                    errno::ER_INVALID_CHARACTER_STRING,
                    format!("Invalid {} character string: '{shown}'", charset.name()),
                ))
            }
        }
    }
}

/// What is said of a text that is a date all the same: its separators are not the standard's.
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
fn number(text: &NumberText, negative: bool) -> Result<Expr> {
    match text {
        NumberText::Integer(digits) => {
            integer(digits, negative).map_or_else(|| decimal(digits, negative), Ok)
        }
        NumberText::Decimal(digits) => decimal(digits, negative),
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

fn decimal(digits: &str, negative: bool) -> Result<Expr> {
    let too_large = || {
        Error::new(
            errno::ER_ILLEGAL_VALUE_FOR_TYPE,
            format!("Illegal decimal '{digits}' value found during parsing"),
        )
    };
    let value = Decimal::parse(digits.trim_end_matches('.')).ok_or_else(too_large)?;
    let value = if negative { value.neg() } else { value };
    let precision = u32::from(value.digits())
        .max(u32::from(value.scale) + u32::from(value.scale == 0))
        .max(1);
    Ok(Expr::literal(
        Value::Decimal(value),
        SqlType::decimal(precision, value.scale),
    ))
}

/// A hexadecimal or bit literal where a number is needed: the number its bytes are.
pub fn as_number(written: &ast::Expr, bound: Expr) -> Expr {
    let ast::Expr::Bytes(bytes) = written else {
        return bound;
    };
    if bytes.len() > NUMBER_BYTES {
        return bound;
    }
    let number = bytes
        .iter()
        .fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    Expr::literal(Value::UInt(number), SqlType::BIGINT_UNSIGNED)
}

/// Whether the type makes a hexadecimal literal beside it a number.
pub fn wants_number(ty: &SqlType) -> bool {
    ty.is_numeric() && ty.kind != TypeKind::Null
}
