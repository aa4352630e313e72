//! The values of columns that a statement does not give.

use functions::{EvalContext, Strictness};
use schema::layout::default_value;
use schema::model::{Column, Default, SchemaState, Table};
use types::json::JsonBinary;
use types::temporal::{DateTime, calendar};
use types::{Decimal, Error, Result, SqlType, TypeKind, Value, errno};

use crate::dml::warn;

/// What a column takes for `DEFAULT`, or if the statement does not name it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColumnDefault {
    Value(Value),
    /// The next id of AUTO_INCREMENT or AUTO_RANDOM.
    Generated,
    /// The value of an expression, which may read other columns of the row.
    Expression,
    /// No default, not even NULL: error 1364, or a warning and the value of [`if_missing`].
    Missing,
}

/// The default of a column, if it depends on neither the session nor the time and is not read from the store.
pub(super) fn constant(column: &Column) -> Option<ColumnDefault> {
    if column.makes_ids() {
        return Some(ColumnDefault::Generated);
    }
    // The value of a generated column is computed when the row is complete. Expressions that read it before see this.
    if column.generated.is_some() {
        return Some(ColumnDefault::Value(if_missing(column)));
    }
    Some(match &column.default {
        Default::Expression(_) => ColumnDefault::Expression,
        Default::Null => ColumnDefault::Value(Value::Null),
        Default::None if column.nullable => ColumnDefault::Value(Value::Null),
        // A column that is still being added takes the value that ADD COLUMN gives to existing rows.
        Default::None if column.state != SchemaState::Public => ColumnDefault::Value(implicit(&column.ty)),
        Default::None | Default::Dropped if matches!(column.ty.kind, TypeKind::Enum(_)) => {
            ColumnDefault::Value(if_missing(column))
        }
        Default::None | Default::Dropped => ColumnDefault::Missing,
        Default::Now | Default::Literal(_) => return None,
    })
}

pub(super) fn of(column: &Column, eval: &EvalContext) -> Result<ColumnDefault> {
    if let Some(constant) = constant(column) {
        return Ok(constant);
    }
    Ok(match &column.default {
        Default::Now => ColumnDefault::Value(now(&column.ty, eval)),
        Default::Literal(text) => ColumnDefault::Value(default_value(column, text, eval.time_zone)?),
        Default::Expression(_) => ColumnDefault::Expression,
        Default::None | Default::Null | Default::Dropped => ColumnDefault::Missing,
    })
}

/// The default, with [`ColumnDefault::Missing`] made an error or a warning.
pub(super) fn given(column: &Column, eval: &EvalContext) -> Result<ColumnDefault> {
    match of(column, eval)? {
        ColumnDefault::Missing => {
            let message = format!("Field '{}' doesn't have a default value", column.name);
            if eval.strictness == Strictness::Error {
                return Err(Error::new(errno::ER_NO_DEFAULT_FOR_FIELD, message));
            }
            warn(eval, errno::ER_NO_DEFAULT_FOR_FIELD, message);
            Ok(ColumnDefault::Value(if_missing(column)))
        }
        ColumnDefault::Value(value) if is_doubtful_date(column, &value) => {
            refuse_date(column, &value, eval)?;
            Ok(ColumnDefault::Value(value))
        }
        default => Ok(default),
    }
}

/// Whether a default is a date without a month or a day, or with a day that its month does not have.
pub(super) fn is_doubtful_date(column: &Column, value: &Value) -> bool {
    match (&column.default, value) {
        (Default::Literal(_), Value::UInt(packed)) if column.ty.is_datetime() => {
            let at = DateTime::unpack(*packed);
            at.has_zero_in_date() || at.day > calendar::days_in_month(at.year, at.month)
        }
        _ => false,
    }
}

/// A default that was defined when such dates were allowed is no value where they are not.
fn refuse_date(column: &Column, value: &Value, eval: &EvalContext) -> Result<()> {
    let is_all_zero = *value == Value::UInt(0);
    let has_zero = match value {
        Value::UInt(packed) => DateTime::unpack(*packed).has_zero_in_date(),
        _ => false,
    };
    let refused = match has_zero {
        _ if is_all_zero => eval.sql_mode.no_zero_date,
        true => eval.sql_mode.no_zero_in_date,
        false => !eval.sql_mode.allow_invalid_dates,
    };
    if !refused {
        return Ok(());
    }
    if eval.strictness != Strictness::Error {
        let message = format!("Out of range value for column '{}' at row 1", column.name);
        warn(eval, errno::ER_WARN_DATA_OUT_OF_RANGE, message);
        return Ok(());
    }
    let what = match column.ty.kind {
        TypeKind::Date => "date",
        _ => "datetime",
    };
    let text = value.to_text(&column.ty).unwrap_or_default();
    Err(Error::new(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!(
            "Incorrect {what} value: '{}' for column '{}' at row 1",
            String::from_utf8_lossy(&text),
            column.name
        ),
    ))
}

/// The value of a column that is not given and has no default, if that is a warning and not an error.
pub(super) fn if_missing(column: &Column) -> Value {
    if column.nullable {
        Value::Null
    } else {
        implicit(&column.ty)
    }
}

/// The implicit default of a NOT NULL column's type.
pub(super) fn implicit(ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Null => Value::Null,
        TypeKind::Decimal => Value::Decimal(Decimal::from(0i64).rescale(ty.decimals).unwrap_or_default()),
        TypeKind::Float | TypeKind::Double => Value::Double(0.0),
        TypeKind::Time => Value::Int(0),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Year => Value::UInt(0),
        TypeKind::Enum(_) => Value::UInt(1),
        TypeKind::Set(_) => Value::UInt(0),
        TypeKind::Json => Value::Json(JsonBinary::null()),
        _ if ty.is_integer() && ty.unsigned => Value::UInt(0),
        _ if ty.is_integer() => Value::Int(0),
        // BINARY(n) is as long as it is declared.
        TypeKind::Char if ty.is_binary() => Value::Bytes(vec![0; ty.length as usize]),
        _ if ty.is_binary() => Value::Bytes(Vec::new()),
        _ => Value::from(""),
    }
}

/// What a NOT NULL column takes for NULL, where that is not an error: of an ENUM the number 0, which is not a
/// member.
pub(super) fn for_null(ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Enum(_) => Value::UInt(0),
        _ => implicit(ty),
    }
}

/// CURRENT_TIMESTAMP in the precision of a column.
pub(super) fn now(ty: &SqlType, eval: &EvalContext) -> Value {
    let now: DateTime = eval.time_zone.from_unix_us(eval.now_us).truncate(ty.decimals);
    Value::UInt(now.pack())
}

/// The columns with `ON UPDATE CURRENT_TIMESTAMP` that a statement does not assign itself.
pub(super) fn on_update_columns(table: &Table, assigned: &[usize]) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    columns
        .filter(|(i, column)| column.on_update_now && !assigned.contains(i))
        .map(|(i, _)| i)
        .collect()
}
