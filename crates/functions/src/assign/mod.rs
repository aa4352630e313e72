//! Converts a value to a column's type in INSERT and UPDATE. A value that does not fit is an error in strict
//! mode; otherwise the nearest value is stored, with a warning.
//!
//! - [`member`]: ENUM, SET, BIT.
//! - [`number`]: integers, DECIMAL, FLOAT, DOUBLE, YEAR.
//! - [`plain`]: a fast path for texts that need no conversion rules.
//! - [`temporal`]: DATE, DATETIME, TIMESTAMP, TIME.
//! - [`mod@text`]: strings, binary data, JSON.
//!
//! [`crate::EvalContext::strictness`] decides whether a value that does not fit fails. NOT NULL is checked by
//! the executor. Source: manual 5.1.11 "Strict SQL Mode", and MySQL 8.0.33's answers.

mod member;
mod number;
mod plain;
pub(crate) mod stored;
mod temporal;
mod text;

use arrow::array::{Array, ArrayRef};
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, TypeKind, Value, Warning, errno};

use crate::EvalContext;
use crate::context::Strictness;
use crate::datum::Datum;
use crate::eval::output::append;
use crate::json::loss::JsonLoss;

pub use number::integer_range;
pub use stored::stored_in;

/// The names in messages about a value.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The column that the value is for; `table.column` if that is JSON.
    pub column: &'a str,
    /// The function or column that the value comes from, in messages about JSON that is not a number or a time.
    /// `None`: they name the column that it is for.
    pub source: Option<&'a str>,
}

impl<'a> From<&'a str> for Names<'a> {
    fn from(column: &'a str) -> Self {
        Self { column, source: None }
    }
}

impl<'a> From<&'a String> for Names<'a> {
    fn from(column: &'a String) -> Self {
        column.as_str().into()
    }
}

/// Converts `value`, of type `from`, to what is stored in a column of type `to`.
///
/// `names` are those in messages. `row_number` counts from 1 within the statement. NULL stays NULL.
///
/// Fails with 1264, 1265, 1292, 1366 or 1406 in strict mode, and with 3140 or 3144 for JSON in every mode.
pub fn value<'n>(
    value: Value,
    from: &SqlType,
    to: &SqlType,
    names: impl Into<Names<'n>>,
    row_number: u64,
    ctx: &EvalContext,
) -> Result<Value> {
    if value.is_null() {
        return Ok(value);
    }
    if let Some(done) = text::fits_as_it_is(&value, to) {
        return if done { Ok(value) } else { text::strip_char(value) };
    }
    if let Value::String(text) = &value
        && let Some(done) = plain::value(text, to)
    {
        return Ok(done);
    }
    let Names { column, source } = names.into();
    let target = Target {
        from,
        to,
        column,
        source,
        row_number,
        ctx,
        on_loss: OnLoss::of(ctx),
    };
    target.convert(Datum::of(&value))
}

/// Converts a text. It is copied only if the column stores it as text.
pub fn text(
    text: &str,
    from: &SqlType,
    to: &SqlType,
    column: &str,
    row_number: u64,
    ctx: &EvalContext,
) -> Result<Value> {
    match text::text_fits_as_it_is(text, to) {
        Some(true) => Ok(Value::String(text.to_owned())),
        Some(false) => Ok(Value::String(text.trim_end_matches(' ').to_owned())),
        None => match plain::value(text, to) {
            Some(done) => Ok(done),
            None => {
                let target = Target {
                    from,
                    to,
                    column,
                    source: None,
                    row_number,
                    ctx,
                    on_loss: OnLoss::of(ctx),
                };
                target.convert(Datum::String(text))
            }
        },
    }
}

/// Converts an array. Its first value belongs to row `first_row_number`.
pub fn array(
    values: &ArrayRef,
    from: &SqlType,
    to: &SqlType,
    column: &str,
    first_row_number: u64,
    ctx: &EvalContext,
) -> Result<ArrayRef> {
    if is_same(from, to) && *values.data_type() == to.arrow_type() {
        return Ok(values.clone());
    }
    let mut out = ColumnBuilder::new(to, values.len());
    for row in 0..values.len() {
        let datum = Datum::at(values.as_ref(), row)?;
        if datum.is_null() {
            out.append_null();
            continue;
        }
        let target = Target {
            from,
            to,
            column,
            source: None,
            row_number: first_row_number + row as u64,
            ctx,
            on_loss: OnLoss::of(ctx),
        };
        let converted = target.convert(datum)?;
        append(&mut out, Datum::of(&converted), to)?;
    }
    Ok(out.finish())
}

/// Whether every value of `from` is a value of `to` without a check. The length of a constant's type may be
/// wrong, so strings are always checked.
fn is_same(from: &SqlType, to: &SqlType) -> bool {
    let plain = from.kind == to.kind && from.unsigned == to.unsigned;
    match to.kind {
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            plain
        }
        TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Bit => from == to,
        TypeKind::Double => plain && !to.unsigned && to.decimals == SqlType::NOT_FIXED,
        _ => false,
    }
}

/// How much of a value that is not a number a message shows.
const SHOWN_MAX: usize = 128;

/// The column that a value is for, and how problems are reported.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub from: &'a SqlType,
    pub to: &'a SqlType,
    pub column: &'a str,
    pub source: Option<&'a str>,
    pub row_number: u64,
    pub ctx: &'a EvalContext,
    pub on_loss: OnLoss,
}

/// What happens to a value that does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnLoss {
    Fail,
    Warn,
    /// The nearest value is stored, without a warning.
    Pass,
}

impl OnLoss {
    fn of(ctx: &EvalContext) -> Self {
        match ctx.strictness {
            Strictness::Error => Self::Fail,
            Strictness::Warn | Strictness::Ignore => Self::Warn,
        }
    }
}

impl Target<'_> {
    fn convert(&self, value: Datum<'_>) -> Result<Value> {
        use TypeKind::*;
        if let Some(converted) = member::from_stored(self, value) {
            return converted;
        }
        if self.from.zerofill && self.to.is_blob_or_text() {
            let text = self.shown(&value);
            let from = SqlType::varchar(text.len() as u32, types::Collation::DEFAULT);
            return Target { from: &from, ..*self }.convert(Datum::String(&text));
        }
        if self.from.zerofill {
            // Elsewhere, leading zeros are part of the column's display form only.
            let from = self.from.computed();
            return Target { from: &from, ..*self }.convert(value);
        }
        if let Datum::Json(json) = value
            && (self.to.is_string() || self.to.has_members() || matches!(self.to.kind, Year | Bit))
        {
            return self.convert(Datum::String(&json.to_text()));
        }
        match self.to.kind {
            Null => Ok(value.to_value()),
            TinyInt | SmallInt | MediumInt | Int | BigInt => number::to_integer(self, value),
            Year => number::to_year(self, value),
            Decimal => number::to_decimal(self, value),
            Float | Double => number::to_double(self, value),
            Date | DateTime | Timestamp => temporal::to_datetime(self, value),
            Time => temporal::to_time(self, value),
            Char | VarChar | TinyText | Text | MediumText | LongText => text::to_text(self, value),
            Json => text::to_json(self, value),
            Enum(members) => member::to_enum(self, members, value),
            Set(members) => member::to_set(self, members, value),
            Bit => member::to_bit(self, value),
        }
    }

    fn is_strict(&self) -> bool {
        self.on_loss == OnLoss::Fail
    }

    /// The value as messages show it.
    fn shown(&self, value: &Datum<'_>) -> String {
        value.to_value().display_text(self.from)
    }

    /// As much of it as messages about values that are not a number or a date show.
    fn beginning(&self, value: &Datum<'_>) -> String {
        let mut shown = self.shown(value);
        shown.truncate(shown.floor_char_boundary(SHOWN_MAX));
        shown
    }

    /// An error in strict mode, otherwise a warning.
    fn lost(&self, code: u16, message: String) -> Result<()> {
        match self.on_loss {
            OnLoss::Fail => Err(Error::new(code, message)),
            OnLoss::Warn => self.ctx.warn(code, message),
            OnLoss::Pass => Ok(()),
        }
    }

    fn at_row(&self, what: &str) -> String {
        format!("{what} for column '{}' at row {}", self.column, self.row_number)
    }

    /// 1264.
    fn out_of_range(&self) -> Result<()> {
        self.lost(
            errno::ER_WARN_DATA_OUT_OF_RANGE,
            self.at_row("Out of range value"),
        )
    }

    /// 1265: a part of the value was not used.
    fn truncated(&self) -> Result<()> {
        self.lost(errno::WARN_DATA_TRUNCATED, self.at_row("Data truncated"))
    }

    /// 1366: no part of the value could be used. `kind` is "integer" or "decimal".
    fn incorrect(&self, kind: &str, value: &Datum<'_>) -> Result<()> {
        let what = format!("Incorrect {kind} value: '{}'", self.beginning(value));
        self.lost(errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, self.at_row(&what))
    }

    /// 3156: JSON that is not a value of the type. `kind` is the type's name in messages.
    fn invalid_json(&self, kind: &str) -> Result<()> {
        self.json_lost(JsonLoss::Invalid, kind)
    }

    /// Reports that JSON cannot be stored, for any of the reasons.
    fn json_lost(&self, loss: JsonLoss, kind: &str) -> Result<()> {
        let (code, reason) = loss.code();
        let message = format!(
            "{reason} JSON value for CAST to {kind} from column {} at row {}",
            self.source.unwrap_or(self.column),
            self.row_number
        );
        self.lost(code, message)
    }

    /// A note: 1265, in every mode.
    fn note_truncated(&self) -> Result<()> {
        if self.on_loss == OnLoss::Pass {
            return Ok(());
        }
        self.ctx.report(Warning::note(
            errno::WARN_DATA_TRUNCATED,
            self.at_row("Data truncated"),
        ))
    }
}

#[cfg(test)]
mod tests;
