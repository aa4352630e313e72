//! The values of an execution, converted to the types that their parameters have by their position in the
//! statement (`planner`'s `bind::parameter` infers those).

use functions::{EvalContext, Expr};
use planner::{Calculation, GUESSED_CHARS, MomentUse, WIDEST_DECIMAL};
use types::{Collation, Decimal, Error, Result, SqlType, TypeKind, Value, errno};

/// What becomes of a value that is given for a parameter.
enum Converted {
    /// It stays as it was sent, and has this type.
    Kept(SqlType),
    /// The bytes of its text.
    Bytes(SqlType),
    Fits(Value, SqlType),
    /// It is of another kind than the parameter, so the statement is compiled with the values' own types.
    Other(Value, SqlType),
}

/// What a value should be, by its parameter's position in the statement.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub ty: SqlType,
    /// It becomes a value of the type. Otherwise it only matters whether it is one.
    pub converts: bool,
    /// What is done with it, if it has the type of a date or time.
    pub moment: MomentUse,
}

impl Expected {
    /// What is expected after a value of type `ty` was of another kind, or was given beside such a value.
    pub fn of_value(self, ty: SqlType) -> Self {
        Self {
            ty: match ty.kind {
                TypeKind::Null => self.ty,
                TypeKind::Decimal => WIDEST_DECIMAL,
                _ if ty.is_string() && self.ty.is_string() => self.ty,
                _ if ty.is_string() => SqlType::varchar(GUESSED_CHARS, ty.collation),
                _ => ty,
            },
            moment: match self.moment {
                MomentUse::Compared if ty.is_datetime() => MomentUse::Compared,
                MomentUse::Spelled if ty.kind == TypeKind::Null => MomentUse::Spelled,
                _ => MomentUse::AsGiven,
            },
            ..self
        }
    }

    /// Whether a value of type `ty` is converted.
    fn takes(&self, ty: &SqlType) -> bool {
        self.converts || self.moment == MomentUse::Compared && ty.is_numeric()
    }

    /// Whether a value of type `ty` is of the parameter's kind.
    fn is_kind_of(&self, value: &Value, ty: &SqlType) -> bool {
        has_no_kind(value) || is_of_kind(&self.ty, ty)
    }

    /// The type of a value that is of the parameter's kind and needs no conversion: of most.
    fn kept(&self, value: &Value, ty: &SqlType) -> Option<SqlType> {
        if !self.takes(ty) {
            return self.is_kind_of(value, ty).then_some(*ty);
        }
        if value.is_null() {
            return Some(self.ty);
        }
        if matches!(self.moment, MomentUse::Computed(_)) {
            return None;
        }
        match value {
            Value::String(_) if self.moment == MomentUse::Spelled => Some(self.text(ty)),
            Value::String(_) | Value::Bytes(_) if self.ty.is_string() && ty.is_string() => {
                match (self.ty.is_binary(), value) {
                    (false, _) => Some(self.text(ty)),
                    (true, Value::Bytes(bytes)) => Some(self.bytes(bytes.len())),
                    (true, _) => None,
                }
            }
            Value::Int(_) if self.ty.kind == TypeKind::BigInt && is_of_kind(&self.ty, ty) => {
                Some(SqlType::BIGINT)
            }
            Value::UInt(_) if self.ty.kind == TypeKind::BigInt && is_of_kind(&self.ty, ty) => {
                Some(SqlType::BIGINT_UNSIGNED)
            }
            Value::Double(_) if self.ty.kind == TypeKind::Double => Some(SqlType::COMPUTED_DOUBLE),
            _ => None,
        }
    }

    /// The type of a text of type `ty` for this parameter: texts up to some length have the same.
    fn text(&self, ty: &SqlType) -> SqlType {
        let length = ty.length.max(self.ty.length);
        SqlType { length, ..*ty }
    }

    /// The type of so many bytes for this parameter.
    fn bytes(&self, count: usize) -> SqlType {
        let length = u32::try_from(count).unwrap_or(u32::MAX).max(self.ty.length);
        SqlType { length, ..self.ty }
    }
}

/// Gives values the types of their parameters, if all are of their kinds and none needs a conversion. Returns whether
/// it did.
pub fn keep(expected: &[Option<Expected>], values: &[Value], types: &mut [SqlType]) -> bool {
    let kept = |(expected, (value, ty)): (&Option<Expected>, (&Value, &SqlType))| match expected {
        Some(expected) => expected.kept(value, ty),
        None => Some(*ty),
    };
    let all = expected.iter().zip(values.iter().zip(&*types));
    if !all.map(kept).all(|ty| ty.is_some()) {
        return false;
    }
    for ((expected, value), ty) in expected.iter().zip(values).zip(types) {
        if let Some(kept) = kept((expected, (value, ty))) {
            *ty = kept;
        }
    }
    true
}

/// Converts values to the types of their parameters; `None` if a parameter has no type. As in MySQL, if one
/// value is of another kind than its parameter, all values except texts keep their own types. A NULL gets the
/// parameter's type; beside a value of another kind, not that of a text, which may come from the same place. Returns
/// whether all values are of their parameters' kinds.
pub fn convert(
    expected: &[Option<Expected>],
    values: &mut [Value],
    types: &mut [SqlType],
    eval: &EvalContext,
) -> bool {
    let mut all_fit = true;
    let mut converted = Vec::with_capacity(expected.len());
    for ((expected, value), ty) in expected.iter().zip(values.iter()).zip(types.iter()) {
        let Some(expected) = expected else {
            converted.push(None);
            continue;
        };
        if let Some(ty) = expected.kept(value, ty) {
            converted.push(Some(Converted::Kept(ty)));
            continue;
        }
        all_fit &= expected.is_kind_of(value, ty);
        converted.push(expected.takes(ty).then(|| match expected.moment {
            MomentUse::Computed(calculation) => operand(&expected.ty, calculation, value, *ty, eval),
            _ => convert_one(expected, value, *ty, eval),
        }));
        all_fit &= !matches!(converted.last(), Some(Some(Converted::Other(..))));
    }
    for (position, converted) in converted.into_iter().enumerate() {
        let (value, ty) = (&mut values[position], &mut types[position]);
        let takes_type = all_fit || has_no_kind(value);
        match converted {
            Some(Converted::Kept(of_text)) if !all_fit && value.is_null() && of_text.is_string() => {}
            Some(Converted::Kept(kept)) if takes_type => *ty = kept,
            Some(Converted::Bytes(of_bytes)) if takes_type => {
                if let Value::String(text) = value {
                    *value = Value::Bytes(std::mem::take(text).into_bytes());
                }
                *ty = of_bytes;
            }
            Some(Converted::Fits(fits, of_place)) if takes_type => (*value, *ty) = (fits, of_place),
            Some(Converted::Other(other, own)) => (*value, *ty) = (other, own),
            _ => {}
        }
    }
    all_fit
}

/// How a prepared statement is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// COM_STMT_EXECUTE
    Binary,
    /// EXECUTE ... USING
    Sql,
}

/// The position of a parameter that is a number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCount {
    /// LIMIT or OFFSET: not negative; NULL is 0.
    OfLimit(usize),
    /// ROWS n PRECEDING, LAG(x, n) and others, which refuse negative numbers and NULL themselves.
    OfWindow(usize),
}

/// Converts the parameters that are numbers of rows.
///
/// # Errors
/// 1210 for a value that is not an integer, 1690 for one that is out of range. A text is read as the integer at its
/// beginning, unless it comes from a user variable.
pub fn convert_row_counts(
    row_counts: &[RowCount],
    how: Protocol,
    values: &mut [Value],
    types: &mut [SqlType],
) -> Result<()> {
    for count in row_counts {
        let (RowCount::OfLimit(position) | RowCount::OfWindow(position)) = *count;
        let (Some(value), Some(ty)) = (values.get_mut(position), types.get_mut(position)) else {
            continue;
        };
        (*value, *ty) = match count {
            RowCount::OfLimit(_) => (Value::UInt(row_count(value, ty, how)?), SqlType::BIGINT_UNSIGNED),
            RowCount::OfWindow(_) => (window_count(value, ty, how)?, SqlType::BIGINT),
        };
    }
    Ok(())
}

fn row_count(value: &Value, ty: &SqlType, how: Protocol) -> Result<u64> {
    let sign = match how {
        Protocol::Binary => "signed",
        Protocol::Sql => "unsigned",
    };
    match value {
        Value::Null => Ok(0),
        Value::UInt(count) if ty.is_integer() => Ok(*count),
        Value::Int(count) if ty.is_integer() => u64::try_from(*count).map_err(|_| out_of_range(sign, how)),
        Value::String(text) if how == Protocol::Binary => Ok(leading_integer(text.as_bytes())),
        Value::Bytes(text) if how == Protocol::Binary => Ok(leading_integer(text)),
        _ => Err(not_whole(how)),
    }
}

fn window_count(value: &Value, ty: &SqlType, how: Protocol) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Int(count) if ty.is_integer() => Ok(Value::Int(*count)),
        Value::UInt(count) if ty.is_integer() => {
            let count = i64::try_from(*count);
            count.map(Value::Int).map_err(|_| out_of_range("signed", how))
        }
        Value::String(text) if how == Protocol::Binary => {
            Ok(Value::Int(leading_integer(text.as_bytes()).cast_signed()))
        }
        Value::Bytes(text) if how == Protocol::Binary => Ok(Value::Int(leading_integer(text).cast_signed())),
        _ => Err(not_whole(how)),
    }
}

impl Protocol {
    fn statement(self) -> &'static str {
        match self {
            Self::Binary => "mysqld_stmt_execute",
            Self::Sql => "EXECUTE",
        }
    }
}

/// Error 1690.
fn out_of_range(sign: &str, how: Protocol) -> Error {
    let statement = how.statement();
    let message = format!("{sign} integer value is out of range in '{statement}'");
    Error::new(errno::ER_DATA_OUT_OF_RANGE, message)
}

/// Error 1210.
fn not_whole(how: Protocol) -> Error {
    let statement = how.statement();
    Error::new(
        errno::ER_WRONG_ARGUMENTS,
        format!("Incorrect arguments to {statement}"),
    )
}

/// Reads an integer as C's `strtoull` does: 0 if there are no digits, the largest number if it overflows, a
/// very large one if it is negative.
fn leading_integer(text: &[u8]) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix(b"+").unwrap_or(text)),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let magnitude = digits.fold(0_u64, |number, digit| {
        number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    });
    if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    }
}

/// Whether MySQL takes a value of type `ty` for a parameter of type `expected` without preparing the statement again.
fn is_of_kind(expected: &SqlType, ty: &SqlType) -> bool {
    match expected.kind {
        TypeKind::Year => ty.is_integer(),
        TypeKind::Bit => ty.is_integer() && ty.unsigned,
        TypeKind::Decimal => ty.is_integer() || ty.is_decimal(),
        TypeKind::Float | TypeKind::Double => ty.is_numeric(),
        TypeKind::DateTime | TypeKind::Timestamp => ty.is_numeric() || ty.is_temporal(),
        TypeKind::Date => ty.is_numeric() || ty.kind == TypeKind::Date,
        TypeKind::Time => ty.is_numeric() || matches!(ty.kind, TypeKind::Time | TypeKind::DateTime),
        _ if expected.is_integer() => ty.is_integer() && ty.unsigned == expected.unsigned,
        // Texts and documents are sent as texts.
        _ => ty.is_string(),
    }
}

/// Whether a value fits every parameter: NULL, and text, which is read as the expected type.
fn has_no_kind(value: &Value) -> bool {
    matches!(value, Value::Null | Value::String(_))
}

fn convert_one(expected: &Expected, value: &Value, ty: SqlType, eval: &EvalContext) -> Converted {
    let bytes = |count: usize| expected.bytes(count);
    let expected = expected.ty;
    let number = match value {
        Value::Int(_) | Value::UInt(_) if ty.is_integer() => Some(value.clone()),
        Value::Decimal(_) | Value::Double(_) => Some(value.clone()),
        Value::String(text) if expected.is_numeric() => number_in(text, &expected),
        _ => None,
    };
    match (expected.kind, number) {
        (TypeKind::BigInt, Some(Value::Decimal(d))) => Converted::Other(Value::Decimal(d), WIDEST_DECIMAL),
        (TypeKind::BigInt, Some(v @ Value::Int(_))) => Converted::Fits(v, SqlType::BIGINT),
        (TypeKind::BigInt, Some(v @ Value::UInt(_))) => Converted::Fits(v, SqlType::BIGINT_UNSIGNED),
        (TypeKind::Decimal, Some(exact)) if !matches!(exact, Value::Double(_)) => match wide(&exact) {
            Some(d) => Converted::Fits(Value::Decimal(d), WIDEST_DECIMAL),
            None => Converted::Other(value.clone(), ty),
        },
        (TypeKind::Double, Some(number)) => {
            Converted::Fits(Value::Double(to_double(&number)), SqlType::COMPUTED_DOUBLE)
        }
        _ if expected.is_temporal() && !ty.is_temporal() => {
            let longer = longer_moment(&expected, value, ty, eval)
                .or_else(|| moment_of_number(&expected, value, ty, eval));
            let longer = longer.map(|moment| (moment, SqlType::datetime(6)));
            let found = longer.or_else(|| moment(&expected, value, ty, eval));
            // The statement reads a number that is no moment as it reads the same text.
            let found = found.or_else(|| text_of(value, ty));
            found.map_or(Converted::Kept(ty), |(value, ty)| Converted::Fits(value, ty))
        }
        (_, Some(Value::Double(_))) => Converted::Other(value.clone(), SqlType::COMPUTED_DOUBLE),
        _ if expected.is_binary() && ty.is_string() => match value {
            Value::String(text) => Converted::Bytes(bytes(text.len())),
            _ => Converted::Kept(expected),
        },
        // The statement reads a text that is no value of the type as far as it goes (`planner`'s
        // `bind::parameter`).
        _ if ty.is_string() || expected.kind == ty.kind || ty.is_temporal() && is_of_kind(&expected, &ty) => {
            Converted::Kept(ty)
        }
        _ => Converted::Other(value.clone(), ty),
    }
}

/// A value that is calculated with beside a date, time or year: a number. A text that is none of those stays
/// (`planner`'s `bind::parameter` reads the number in it).
fn operand(
    expected: &SqlType,
    calculation: Calculation,
    value: &Value,
    ty: SqlType,
    eval: &EvalContext,
) -> Converted {
    let number = calculation.number(expected);
    if let Some(moment) = longer_moment(expected, value, ty, eval) {
        return Converted::Other(moment, SqlType::datetime(6));
    }
    let found = match value {
        // A year or BIT. `planner` reads any other text.
        Value::String(_) if expected.is_integer() => None,
        Value::String(text) => moment(expected, value, ty, eval).and_then(|(found, of)| {
            // A date alone is the number of its day.
            let is_day = of.is_datetime() && !functions::spells_time_of_day(text);
            let of_day = if is_day { SqlType::DATE } else { of };
            let found = silently(&found, of, of_day, eval)?;
            silently(&found, of_day, number, eval)
        }),
        value if is_of_kind(expected, &ty) => silently(value, ty, number, eval),
        Value::Decimal(_) => return Converted::Other(value.clone(), WIDEST_DECIMAL),
        value => return Converted::Other(value.clone(), ty),
    };
    match found {
        Some(found) => Converted::Fits(found, number),
        None => Converted::Kept(ty),
    }
}

/// The point in time that is given where only a date or a time is expected.
fn longer_moment(expected: &SqlType, value: &Value, ty: SqlType, eval: &EvalContext) -> Option<Value> {
    let is_longer = match (expected.kind, value) {
        (TypeKind::Date, Value::String(text)) => functions::spells_time_of_day(text),
        (TypeKind::Time, Value::String(text)) => functions::spells_point_in_time(text),
        (TypeKind::Date, number) => ty.is_numeric() && to_double(number) > MAX_DATE,
        _ => false,
    };
    let moment = is_longer.then(|| silently(value, ty, SqlType::datetime(6), eval));
    moment.flatten()
}

/// The point in time that a number is where only a time is expected.
fn moment_of_number(expected: &SqlType, value: &Value, ty: SqlType, eval: &EvalContext) -> Option<Value> {
    let is_longer = expected.kind == TypeKind::Time && ty.is_numeric() && to_double(value) >= MIN_MOMENT;
    let moment = is_longer.then(|| silently(value, ty, SqlType::datetime(6), eval));
    moment.flatten()
}

/// A parameter without a known type.
pub fn untyped() -> SqlType {
    SqlType::varchar(GUESSED_CHARS, Collation::DEFAULT)
}

/// The largest number that is a date without a time of day.
const MAX_DATE: f64 = 99_991_231.0;

/// The smallest number that is not a time, but a date with a time of day: it has as many digits as one with a year of two.
const MIN_MOMENT: f64 = 10_000_000_000.0;

/// The number in a text, of the kind that is nearest to the expected type.
fn number_in(text: &str, expected: &SqlType) -> Option<Value> {
    let text = text.trim();
    // A negative number, or a larger one, is no integer here.
    if expected.kind == TypeKind::BigInt
        && let Ok(v) = text.parse::<u64>()
    {
        match i64::try_from(v) {
            Ok(v) if !expected.unsigned => return Some(Value::Int(v)),
            Err(_) if !expected.unsigned => {}
            _ => return Some(Value::UInt(v)),
        }
    }
    Decimal::parse(text).map(Value::Decimal)
}

/// A number as a DECIMAL(65,30).
fn wide(number: &Value) -> Option<Decimal> {
    let exact = match number {
        Value::Int(v) => Decimal::from_i64(*v),
        Value::UInt(v) => Decimal::from_u64(*v),
        Value::Decimal(d) => *d,
        _ => return None,
    };
    exact.rescale(WIDEST_DECIMAL.decimals).map(|_| exact)
}

fn to_double(number: &Value) -> f64 {
    match number {
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Decimal(d) => d.to_f64(),
        Value::Double(v) => *v,
        _ => 0.0,
    }
}

/// The date or time in a text or number. A date with a time of day is a DATETIME, even if a DATE is expected.
fn moment(expected: &SqlType, value: &Value, ty: SqlType, eval: &EvalContext) -> Option<(Value, SqlType)> {
    let timed = match value {
        Value::String(text) => text.contains(':'),
        number => ty.is_numeric() && to_double(number) > MAX_DATE,
    };
    let target = if timed && expected.kind == TypeKind::Date {
        SqlType::datetime(6)
    } else {
        *expected
    };
    silently(value, ty, target, eval).map(|found| (found, target))
}

/// A value as one of type `target`, if nothing of it is lost. The number 0 is the zero date in every `sql_mode`.
fn silently(value: &Value, ty: SqlType, target: SqlType, eval: &EvalContext) -> Option<Value> {
    let mut sql_mode = eval.sql_mode;
    if ty.is_numeric() && to_double(value) == 0.0 {
        sql_mode.no_zero_date = false;
        sql_mode.no_zero_in_date = false;
    }
    let silent = EvalContext {
        sql_mode,
        time_zone: eval.time_zone,
        now_us: eval.now_us,
        ..EvalContext::default()
    };
    let cast = functions::bind::cast(Expr::literal(value.clone(), ty), target).ok()?;
    let found = functions::eval_value(&cast, &silent).ok()?;
    (!found.is_null() && silent.warnings.count() == 0).then_some(found)
}

/// A number as text.
fn text_of(value: &Value, ty: SqlType) -> Option<(Value, SqlType)> {
    if !ty.is_numeric() {
        return None;
    }
    let text = SqlType::varchar(ty.length, Collation::DEFAULT);
    let cast = functions::bind::cast(Expr::literal(value.clone(), ty), text).ok()?;
    let found = functions::eval_value(&cast, &EvalContext::default()).ok()?;
    Some((found, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(expected: SqlType, value: Value, ty: SqlType) -> (Value, SqlType) {
        let (mut values, mut types) = ([value], [ty]);
        convert(
            &[Some(Expected {
                ty: expected,
                converts: true,
                moment: MomentUse::AsGiven,
            })],
            &mut values,
            &mut types,
            &EvalContext::default(),
        );
        let [value] = values;
        (value, types[0])
    }

    #[test]
    fn values_become_what_is_expected() {
        let text = SqlType::varchar(4, Collation::DEFAULT);
        let half = Decimal::parse("0.5").unwrap();
        assert_eq!(
            converted(SqlType::BIGINT, Value::from("12"), text),
            (Value::Int(12), SqlType::BIGINT)
        );
        assert_eq!(
            converted(SqlType::BIGINT, Value::from("0.5"), text),
            (Value::Decimal(half), WIDEST_DECIMAL)
        );
        assert_eq!(
            converted(SqlType::BIGINT, Value::from("x"), text),
            (Value::from("x"), text)
        );
        assert_eq!(
            converted(SqlType::BIGINT_UNSIGNED, Value::from("7"), text),
            (Value::UInt(7), SqlType::BIGINT_UNSIGNED)
        );
        assert_eq!(
            converted(SqlType::BIGINT, Value::Null, SqlType::NULL),
            (Value::Null, SqlType::BIGINT)
        );
        assert_eq!(
            converted(WIDEST_DECIMAL, Value::Int(5), SqlType::BIGINT),
            (Value::Decimal(Decimal::from_i64(5)), WIDEST_DECIMAL)
        );
        assert_eq!(
            converted(SqlType::DOUBLE, Value::Int(5), SqlType::BIGINT),
            (Value::Double(5.0), SqlType::COMPUTED_DOUBLE)
        );
        assert_eq!(
            converted(SqlType::DATE, Value::from("2024-02-30"), text),
            (Value::from("2024-02-30"), text)
        );
        assert_eq!(
            converted(SqlType::DATE, Value::from("2024-02-29"), text).1,
            SqlType::DATE
        );
        assert_eq!(
            converted(SqlType::DATE, Value::from("2024-02-29 01:02:03"), text).1,
            SqlType::datetime(6)
        );
    }

    #[test]
    fn most_values_stay_as_they_are_sent() {
        let text = SqlType::varchar(3, Collation::DEFAULT);
        let kept = |ty: SqlType, moment: MomentUse, value: Value, own: SqlType| {
            let mut types = [own];
            let expected = Expected {
                ty,
                converts: true,
                moment,
            };
            keep(&[Some(expected)], &[value], &mut types).then_some(types[0])
        };
        let given = MomentUse::AsGiven;
        let seven = || Value::from("07");
        assert_eq!(kept(untyped(), given, seven(), text), Some(untyped()));
        assert_eq!(
            kept(SqlType::BIGINT, given, Value::Int(7), SqlType::BOOL),
            Some(SqlType::BIGINT)
        );
        assert_eq!(
            kept(SqlType::BIGINT, given, Value::Null, SqlType::NULL),
            Some(SqlType::BIGINT)
        );
        assert_eq!(kept(SqlType::BIGINT, given, seven(), text), None);
        assert!(kept(SqlType::BIGINT, MomentUse::Spelled, seven(), text).is_some_and(|ty| ty.is_string()));
        assert_eq!(kept(untyped(), given, Value::Int(7), SqlType::BIGINT), None);
    }

    #[test]
    fn row_counts_are_whole_and_not_negative() {
        let text = SqlType::varchar(4, Collation::DEFAULT);
        let code = |value: Value, ty: SqlType, how: Protocol| row_count(&value, &ty, how).map_err(|e| e.code);
        for how in [Protocol::Binary, Protocol::Sql] {
            assert_eq!(code(Value::Null, SqlType::NULL, how), Ok(0));
            assert_eq!(code(Value::Int(2), SqlType::BIGINT, how), Ok(2));
            assert_eq!(code(Value::Int(-1), SqlType::BIGINT, how), Err(1690));
            assert_eq!(code(Value::Double(2.0), SqlType::DOUBLE, how), Err(1210));
            assert_eq!(code(Value::UInt(0), SqlType::DATE, how), Err(1210));
        }
        assert_eq!(code(Value::from("2"), text, Protocol::Sql), Err(1210));
        for (written, count) in [("2", 2), ("1.7", 1), ("x", 0), ("", 0), ("-1", u64::MAX)] {
            assert_eq!(code(Value::from(written), text, Protocol::Binary), Ok(count));
        }
    }

    /// MySQL prepares the statement again in this case, with the types of all values.
    #[test]
    fn one_value_of_another_kind_leaves_all_types() {
        let text = SqlType::varchar(1, Collation::DEFAULT);
        let mut values = [Value::Int(1), Value::Double(0.5), Value::from("3")];
        let mut types = [SqlType::BIGINT, SqlType::DOUBLE, text];
        let expected = [SqlType::DOUBLE, SqlType::BIGINT, SqlType::BIGINT].map(|ty| {
            Some(Expected {
                ty,
                converts: true,
                moment: MomentUse::AsGiven,
            })
        });
        convert(&expected, &mut values, &mut types, &EvalContext::default());
        assert_eq!(
            types,
            [SqlType::BIGINT, SqlType::COMPUTED_DOUBLE, SqlType::BIGINT]
        );
        assert_eq!(values, [Value::Int(1), Value::Double(0.5), Value::Int(3)]);
    }
}
