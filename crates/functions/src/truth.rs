//! Truth values: which values are true, and how SQL represents truth.

use types::Value;

use crate::cast::number_text::parse_double;
use crate::datum::Datum;

/// The truth of a number, a date or a time: whether it is not zero. `None` for NULL.
pub(crate) fn truth(datum: &Datum<'_>) -> Option<bool> {
    match datum {
        Datum::Null => None,
        Datum::Int(v) => Some(*v != 0),
        Datum::UInt(v) => Some(*v != 0),
        Datum::Double(v) => Some(*v != 0.0),
        Datum::Decimal(d) => Some(!d.is_zero()),
        // Text was converted to a number when it was bound.
        Datum::String(_) | Datum::Bytes(_) => Some(parse_double(datum.bytes()).value != 0.0),
        Datum::Json(json) => Some(parse_double(json.to_text().as_bytes()).value != 0.0),
    }
}

/// The SQL value of a truth value: 1, 0 or NULL.
pub(crate) fn value_of(truth: Option<bool>) -> Value {
    match truth {
        Some(known) => Value::Int(i64::from(known)),
        None => Value::Null,
    }
}
