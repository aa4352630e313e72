//! A prepared statement's values, converted to the types of their places (`planner`'s `bind::parameter`).

use functions::{EvalContext, Expr};
use types::{Decimal, SqlType, TypeKind, Value};

/// What becomes of a value in its place.
enum Settled {
    Fits(Value, SqlType),
    /// Another kind: the statement is compiled with the values' own types.
    Other(Value, SqlType),
}

/// Converts values, and their types, to those of their places. Where a value is of another kind than its place, all but texts
/// keep their own, as in MySQL. A NULL has its place's type.
pub fn settle(places: &[Option<SqlType>], values: &mut [Value], types: &mut [SqlType], eval: &EvalContext) {
    let mut all_fit = true;
    let mut settled = Vec::with_capacity(places.len());
    for ((place, value), ty) in places.iter().zip(values.iter()).zip(types.iter()) {
        let Some(place) = place else {
            settled.push(None);
            continue;
        };
        settled.push(Some(if value.is_null() {
            Settled::Fits(Value::Null, *place)
        } else {
            settle_one(*place, value, *ty, eval)
        }));
        all_fit &= !matches!(settled.last(), Some(Some(Settled::Other(..))));
    }
    for (position, settled) in settled.into_iter().enumerate() {
        let (value, ty) = match settled {
            Some(Settled::Fits(value, ty)) if all_fit || has_no_kind(&values[position]) => (value, ty),
            Some(Settled::Other(value, ty)) => (value, ty),
            _ => continue,
        };
        values[position] = value;
        types[position] = ty;
    }
}

/// Whether a value is of any kind: NULL, and text, which is read as what its place is.
fn has_no_kind(value: &Value) -> bool {
    matches!(value, Value::Null | Value::String(_))
}

fn settle_one(place: SqlType, value: &Value, ty: SqlType, eval: &EvalContext) -> Settled {
    let own = || (value.clone(), ty);
    let number = match value {
        Value::Int(_) | Value::UInt(_) if ty.is_integer() => Some(value.clone()),
        Value::Decimal(_) | Value::Double(_) => Some(value.clone()),
        Value::String(text) if place.is_numeric() => number_in(text, &place),
        _ => None,
    };
    match (place.kind, number) {
        (TypeKind::BigInt, Some(Value::Decimal(d))) => Settled::Other(Value::Decimal(d), WIDEST),
        (TypeKind::BigInt, Some(v @ Value::Int(_))) => Settled::Fits(v, SqlType::BIGINT),
        (TypeKind::BigInt, Some(v @ Value::UInt(_))) => Settled::Fits(v, SqlType::BIGINT_UNSIGNED),
        (TypeKind::Decimal, Some(exact)) if !matches!(exact, Value::Double(_)) => match wide(&exact) {
            Some(d) => Settled::Fits(Value::Decimal(d), WIDEST),
            None => Settled::Other(value.clone(), ty),
        },
        (TypeKind::Double, Some(number)) => Settled::Fits(Value::Double(to_double(&number)), SqlType::DOUBLE),
        _ if place.is_temporal() && !ty.is_temporal() => match moment(&place, value, ty, eval) {
            Some((value, ty)) => Settled::Fits(value, ty),
            None => Settled::Fits(value.clone(), ty),
        },
        _ if ty.is_string() || place.kind == ty.kind => {
            let (value, ty) = own();
            Settled::Fits(value, ty)
        }
        _ => {
            let (value, ty) = own();
            Settled::Other(value, ty)
        }
    }
}

/// The type of every DECIMAL parameter.
const WIDEST: SqlType = SqlType::decimal(65, 30);

/// The number that a text is, in the kind that is nearest to its place's.
fn number_in(text: &str, place: &SqlType) -> Option<Value> {
    let text = text.trim();
    if place.kind == TypeKind::BigInt {
        if let Ok(v) = text.parse::<i64>() {
            return Some(Value::Int(v));
        }
        if let Ok(v) = text.parse::<u64>() {
            return Some(Value::UInt(v));
        }
    }
    Decimal::parse(text).map(Value::Decimal)
}

/// A number as a DECIMAL(65,30) holds it.
fn wide(number: &Value) -> Option<Decimal> {
    let exact = match number {
        Value::Int(v) => Decimal::from_i64(*v),
        Value::UInt(v) => Decimal::from_u64(*v),
        Value::Decimal(d) => *d,
        _ => return None,
    };
    exact.rescale(WIDEST.decimals).map(|_| exact)
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

/// The date or time that a text or number spells; a date with a time of day is a DATETIME, whatever its place.
fn moment(place: &SqlType, value: &Value, ty: SqlType, eval: &EvalContext) -> Option<(Value, SqlType)> {
    let timed = matches!(value, Value::String(text) if text.contains(':'));
    let target = if timed && place.kind == TypeKind::Date {
        SqlType::datetime(6)
    } else {
        *place
    };
    let silent = EvalContext {
        sql_mode: eval.sql_mode,
        time_zone: eval.time_zone,
        now_us: eval.now_us,
        ..EvalContext::default()
    };
    let cast = functions::bind::cast(Expr::literal(value.clone(), ty), target).ok()?;
    let found = functions::eval_value(&cast, &silent).ok()?;
    (!found.is_null() && silent.warnings.count() == 0).then_some((found, target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Collation;

    fn settled(place: SqlType, value: Value, ty: SqlType) -> (Value, SqlType) {
        let (mut values, mut types) = ([value], [ty]);
        settle(&[Some(place)], &mut values, &mut types, &EvalContext::default());
        let [value] = values;
        (value, types[0])
    }

    #[test]
    fn values_become_what_their_place_is() {
        let text = SqlType::varchar(4, Collation::DEFAULT);
        let half = Decimal::parse("0.5").unwrap();
        assert_eq!(
            settled(SqlType::BIGINT, Value::from("12"), text),
            (Value::Int(12), SqlType::BIGINT)
        );
        assert_eq!(
            settled(SqlType::BIGINT, Value::from("0.5"), text),
            (Value::Decimal(half), WIDEST)
        );
        assert_eq!(
            settled(SqlType::BIGINT, Value::from("x"), text),
            (Value::from("x"), text)
        );
        assert_eq!(
            settled(SqlType::BIGINT, Value::Null, SqlType::NULL),
            (Value::Null, SqlType::BIGINT)
        );
        assert_eq!(
            settled(WIDEST, Value::Int(5), SqlType::BIGINT),
            (Value::Decimal(Decimal::from_i64(5)), WIDEST)
        );
        assert_eq!(
            settled(SqlType::DOUBLE, Value::Int(5), SqlType::BIGINT),
            (Value::Double(5.0), SqlType::DOUBLE)
        );
        assert_eq!(
            settled(SqlType::DATE, Value::from("2024-02-30"), text),
            (Value::from("2024-02-30"), text)
        );
        assert_eq!(
            settled(SqlType::DATE, Value::from("2024-02-29"), text).1,
            SqlType::DATE
        );
        assert_eq!(
            settled(SqlType::DATE, Value::from("2024-02-29 01:02:03"), text).1,
            SqlType::datetime(6)
        );
    }

    /// MySQL prepares the statement again then, with the types of all values.
    #[test]
    fn one_of_another_kind_leaves_all_theirs() {
        let text = SqlType::varchar(1, Collation::DEFAULT);
        let mut values = [Value::Int(1), Value::Double(0.5), Value::from("3")];
        let mut types = [SqlType::BIGINT, SqlType::DOUBLE, text];
        let places = [SqlType::DOUBLE, SqlType::BIGINT, SqlType::BIGINT].map(Some);
        settle(&places, &mut values, &mut types, &EvalContext::default());
        assert_eq!(types, [SqlType::BIGINT, SqlType::DOUBLE, SqlType::BIGINT]);
        assert_eq!(values, [Value::Int(1), Value::Double(0.5), Value::Int(3)]);
    }
}
