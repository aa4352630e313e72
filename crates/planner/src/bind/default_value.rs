//! Default values of a column's definition.

use std::borrow::Cow;

use functions::{EvalContext, Expr, Strictness, assign};
use schema::model::{Column, Default};
use types::{Decimal, Error, Members, Result, SqlType, TypeKind, Value, Warning, WarningLevel, errno};

use super::context::Context;
use super::scope::NO_NAMES;
use super::{Binder, literal, members, stored};
use syntax::ast::{DefaultClause, Expr as AstExpr};

/// Error 1101.
fn no_default_of_blob(column: &str) -> Error {
    Error::new(
        errno::ER_BLOB_CANT_HAVE_DEFAULT,
        format!("BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value"),
    )
}

/// Whether a column of the type can have such a default at all, whatever the value.
///
/// # Errors
/// 1067 and 1101.
pub(super) fn check_clause(
    binder: &Binder<'_>,
    name: &str,
    ty: SqlType,
    clause: &DefaultClause,
    nullable: bool,
) -> Result<()> {
    match clause {
        DefaultClause::Now(digits) => {
            let is_moment = matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp);
            match is_moment && *digits == ty.decimals {
                true => Ok(()),
                false => Err(invalid(name)),
            }
        }
        DefaultClause::Literal(AstExpr::Null) if nullable => Ok(()),
        // MySQL takes a text that spells a date, but not DATE '...'.
        DefaultClause::Literal(AstExpr::Null | AstExpr::Temporal { .. }) => Err(invalid(name)),
        DefaultClause::Literal(literal) if is_nothing(literal, &ty) => Err(invalid(name)),
        DefaultClause::Literal(literal) if ty.is_blob_or_text() || ty.kind == TypeKind::Json => {
            // An empty default is left out.
            let is_empty = match literal {
                AstExpr::Text(text) => text.is_empty(),
                AstExpr::Bytes(bytes) => bytes.is_empty(),
                _ => false,
            };
            match is_empty && !binder.env.sql_mode.strict {
                true => Ok(()),
                false => Err(no_default_of_blob(name)),
            }
        }
        DefaultClause::Literal(_) | DefaultClause::Expression(_) => Ok(()),
    }
}

/// Whether a text says nothing that the type could take. INSERT stores zero for it.
fn is_nothing(literal: &AstExpr, ty: &SqlType) -> bool {
    match (literal, ty.kind) {
        (AstExpr::Bytes(bytes), TypeKind::Time) => bytes.iter().all(u8::is_ascii_whitespace),
        (AstExpr::Bytes(bytes), TypeKind::Bit | TypeKind::Year) => bytes.is_empty(),
        (AstExpr::Bytes(bytes), _) => ty.is_numeric() && bytes.is_empty(),
        (AstExpr::Text(text), TypeKind::Time) => text.trim_ascii().is_empty(),
        _ => false,
    }
}

/// The default of a definition in its stored form: checked, and as text of the column's type.
/// Fails with 1067.
pub(super) fn bind_default(
    binder: &Binder<'_>,
    name: &str,
    ty: SqlType,
    clause: &DefaultClause,
    nullable: bool,
) -> Result<Default> {
    check_clause(binder, name, ty, clause, nullable)?;
    match clause {
        DefaultClause::Now(_) => Ok(Default::Now),
        DefaultClause::Expression(expr) => Ok(Default::Expression(stored::stored_expression(binder, expr))),
        DefaultClause::Literal(AstExpr::Null) => Ok(Default::Null),
        DefaultClause::Literal(_) if ty.is_blob_or_text() || ty.kind == TypeKind::Json => {
            let left_out = no_default_of_blob(name);
            binder.warn(Warning::warning(left_out.code, left_out.message));
            Ok(Default::None)
        }
        DefaultClause::Literal(literal) => literal_default(binder, name, ty, literal),
    }
}

/// Error 1067.
fn invalid(name: &str) -> Error {
    Error::new(
        errno::ER_INVALID_DEFAULT,
        format!("Invalid default value for '{name}'"),
    )
}

fn literal_default(binder: &Binder<'_>, name: &str, ty: SqlType, literal: &AstExpr) -> Result<Default> {
    let literal = match literal {
        AstExpr::Bytes(bytes) if ty.has_members() => {
            let text = members::decoded(bytes, ty.collation.charset()).map_err(|error| {
                binder.warn(Warning::warning(error.code, error.message));
                invalid(name)
            })?;
            Cow::Owned(AstExpr::Text(text.into_owned()))
        }
        literal => Cow::Borrowed(literal),
    };
    // The default of an ENUM or SET is a text, never a number.
    if ty.has_members() && !matches!(*literal, AstExpr::Text(_)) {
        return Err(invalid(name));
    }
    if let (TypeKind::Enum(all) | TypeKind::Set(all), AstExpr::Text(text)) = (ty.kind, &*literal)
        && !is_member(&ty, all, text.trim_end_matches(' '))
    {
        return Err(invalid(name));
    }
    let bound = binder.scalar(&literal, &Context::of(&NO_NAMES))?;
    let bound = if ty.is_numeric() {
        literal::as_stored_number(binder, &literal, bound)
    } else {
        bound
    };
    let value = converted(binder, name, ty, &literal, &bound)?;
    let text = default_text(value, ty, binder.env.time_zone).ok_or_else(|| invalid(name))?;
    Ok(Default::Literal(text))
}

/// Whether a default names a member, or members of a SET. A number of one, which INSERT takes, does not.
fn is_member(ty: &SqlType, all: Members, text: &str) -> bool {
    match ty.kind {
        TypeKind::Set(_) => all.find_set(text, ty.collation).1,
        _ => all.find(text, ty.collation).is_some(),
    }
}

/// The value of a literal, as a value of the column's type.
fn converted(binder: &Binder<'_>, name: &str, ty: SqlType, literal: &AstExpr, bound: &Expr) -> Result<Value> {
    // A default is checked strictly in every sql_mode. Only the modes about zero dates count, and only with a strict one.
    let mode = binder.env.sql_mode;
    let context = EvalContext {
        sql_mode: types::SqlMode {
            strict: true,
            no_zero_date: mode.strict && mode.no_zero_date,
            no_zero_in_date: mode.strict && mode.no_zero_in_date,
            ..mode
        },
        strictness: Strictness::Error,
        time_zone: binder.env.time_zone,
        ..EvalContext::default()
    };
    let value = functions::eval_value(bound, &context).map_err(|_| invalid(name))?;
    let from = bound.ty();
    if ty.is_decimal() {
        let has_rest = match literal {
            AstExpr::Text(text) => {
                let read = Decimal::parse_prefix(text.as_bytes()).consumed;
                read > 0 && !text.as_bytes()[read..].iter().all(u8::is_ascii_whitespace)
            }
            _ => false,
        };
        let strictness = match mode.strict {
            true => Strictness::Error,
            false => Strictness::Warn,
        };
        let context = EvalContext {
            strictness,
            ..context
        };
        return decimal_default(binder, (value, &from, &ty, name), has_rest, &context);
    }
    match assign::value(value.clone(), &from, &ty, name, 1, &context) {
        Ok(checked) if mode.strict => {
            let (notes, _) = context.warnings.take();
            notes.into_iter().for_each(|note| binder.warn(note));
            Ok(checked)
        }
        Ok(checked) => {
            let inserted = as_inserted(binder, (value, &from, &ty, name));
            Ok(inserted.map_or(checked, |inserted| inserted.value))
        }
        Err(error) if mode.strict => {
            warn_of_failure(binder, error);
            Err(invalid(name))
        }
        Err(_) => {
            let is_number = matches!(value, Value::Double(_));
            match as_inserted(binder, (value, &from, &ty, name)) {
                Some(Inserted { value, is_begun }) if is_begun || is_number && ty.is_string() => Ok(value),
                _ => Err(invalid(name)),
            }
        }
    }
}

/// Checks a default that a column has already, when ALTER TABLE defines the table anew under another sql_mode.
///
/// # Errors
/// 1067 for a zero date that the mode refuses.
pub(super) fn check_again(binder: &Binder<'_>, column: &Column) -> Result<()> {
    let mode = binder.env.sql_mode;
    let Default::Literal(text) = &column.default else {
        return Ok(());
    };
    // A TIMESTAMP is a moment, or zero.
    let may_be_zero = match column.ty.kind {
        TypeKind::Date | TypeKind::DateTime => true,
        TypeKind::Timestamp => text.starts_with("0000-00-00"),
        _ => false,
    };
    if !may_be_zero || !(mode.no_zero_date || mode.no_zero_in_date) {
        return Ok(());
    }
    let value = Value::String(text.clone());
    let from = SqlType::varchar(text.len() as u32, types::Collation::DEFAULT);
    let label = &column.name;
    if !mode.strict {
        as_inserted(binder, (value, &from, &column.ty, label));
        return Ok(());
    }
    let context = EvalContext {
        sql_mode: mode,
        strictness: Strictness::Error,
        ..EvalContext::default()
    };
    match assign::value(value, &from, &column.ty, label, 1, &context) {
        Ok(_) => Ok(()),
        Err(error) => {
            warn_of_failure(binder, error);
            Err(invalid(label))
        }
    }
}

/// The conversion's error, which SHOW WARNINGS lists before 1067.
fn warn_of_failure(binder: &Binder<'_>, error: Error) {
    let level = WarningLevel::Error;
    let (code, message) = (error.code, error.message);
    binder.warn(Warning { level, code, message });
}

/// What INSERT makes of a default outside strict mode.
struct Inserted {
    value: Value,
    /// Whether it is a date or time, and what follows it in the text is left out. MySQL takes that for a default.
    is_begun: bool,
}

/// The value that INSERT stores outside strict mode, with its warnings.
fn as_inserted(
    binder: &Binder<'_>,
    (value, from, ty, name): (Value, &SqlType, &SqlType, &str),
) -> Option<Inserted> {
    let context = EvalContext {
        sql_mode: binder.env.sql_mode,
        strictness: Strictness::Warn,
        time_zone: binder.env.time_zone,
        ..EvalContext::default()
    };
    let value = assign::value(value, from, ty, name, 1, &context).ok()?;
    let (warnings, _) = context.warnings.take();
    let is_zero = matches!(value, Value::Int(0) | Value::UInt(0));
    let is_truncated = warnings
        .iter()
        .all(|warning| warning.code == errno::WARN_DATA_TRUNCATED);
    warnings.into_iter().for_each(|warning| binder.warn(warning));
    Some(Inserted {
        value,
        is_begun: ty.is_temporal() && is_truncated && !is_zero,
    })
}

/// A DECIMAL's default is rounded, and read from text, as INSERT does it under the session's own mode, with
/// the same warnings; but a value out of range is an error in any mode. `has_rest`: it is a text that goes on after the
/// number, which MySQL takes as it is, but for the mode.
fn decimal_default(
    binder: &Binder<'_>,
    (value, from, ty, name): (Value, &SqlType, &SqlType, &str),
    has_rest: bool,
    context: &EvalContext,
) -> Result<Value> {
    let value = match assign::value(value, from, ty, name, 1, context) {
        Ok(value) => value,
        Err(error) if has_rest && error.code == errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD => {
            return Err(error);
        }
        Err(error) => {
            warn_of_failure(binder, error);
            return Err(invalid(name));
        }
    };
    let (warnings, _) = context.warnings.take();
    let is_beyond = |warning: &Warning| warning.code == errno::ER_WARN_DATA_OUT_OF_RANGE;
    let is_refused = !has_rest && warnings.iter().any(is_beyond);
    warnings.into_iter().for_each(|warning| binder.warn(warning));
    match is_refused {
        true => Err(invalid(name)),
        false => Ok(value),
    }
}

/// The text of a value as the catalog writes defaults; `None` for a TIMESTAMP that does not exist in the
/// zone. TIMESTAMPs are in UTC, bytes are hexadecimal digits, FLOATs have all digits, of which clients are
/// shown six.
pub fn default_text(value: Value, ty: SqlType, time_zone: functions::TimeZone) -> Option<String> {
    if let Value::Bytes(bytes) = &value {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        return Some(format!("0x{digits}"));
    }
    let value = match (ty.kind, value) {
        (TypeKind::Timestamp, Value::UInt(0)) => Value::UInt(0),
        (TypeKind::Timestamp, Value::UInt(packed)) => Value::UInt(time_zone.local_to_utc(packed)?),
        (_, value) => value,
    };
    if let (TypeKind::Bit, Value::UInt(bits)) = (ty.kind, &value) {
        return Some(format!("b'{bits:b}'"));
    }
    let shown = match ty.kind {
        TypeKind::Float => SqlType::DOUBLE,
        _ => ty,
    };
    String::from_utf8(value.to_text(&shown)?).ok()
}
