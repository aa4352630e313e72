//! MySQL's order of JSON values. [`super::key`] encodes it as bytes.

use std::cmp::Ordering;

use types::Decimal;
use types::json::{JsonRef, JsonView, field_type};

/// Compares by type first: null < numbers < strings < objects < arrays < booleans < dates < times < points in
/// time < binary data.
pub(crate) fn compare(a: JsonRef<'_>, b: JsonRef<'_>) -> Ordering {
    use JsonView::*;
    let (a, b) = (a.view(), b.view());
    let by_rank = rank(&a).cmp(&rank(&b));
    if by_rank.is_ne() {
        return by_rank;
    }
    match (a, b) {
        (Bool(a), Bool(b)) => a.cmp(&b),
        (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Array(a), Array(b)) => compare_all(a.iter(), b.iter()).then(a.len().cmp(&b.len())),
        (Object(a), Object(b)) => a.len().cmp(&b.len()).then_with(|| {
            let mut keys = a.keys().zip(b.keys());
            keys.find_map(|(x, y)| Some(types::json::key_order(x, y)).filter(|o| o.is_ne()))
                .unwrap_or_else(|| compare_all(a.values(), b.values()))
        }),
        (Opaque(x, a), Opaque(y, b)) => x.cmp(&y).then_with(|| a.cmp(b)),
        (Time(a), Time(b)) => a.0.cmp(&b.0),
        (Date(a) | DateTime(a) | Timestamp(a), Date(b) | DateTime(b) | Timestamp(b)) => a.cmp(&b),
        (a, b) => match (decimal(&a), decimal(&b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => match (Number::of(&a), Number::of(&b)) {
                (Some(a), Some(b)) => a.compare(b),
                _ => Ordering::Equal,
            },
        },
    }
}

fn compare_all<'a>(a: impl Iterator<Item = JsonRef<'a>>, b: impl Iterator<Item = JsonRef<'a>>) -> Ordering {
    a.zip(b)
        .map(|(x, y)| compare(x, y))
        .find(|o| o.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The position of a value's type in the order of types.
pub(super) fn rank(value: &JsonView<'_>) -> u8 {
    use JsonView::*;
    match value {
        Null => 1,
        Int(_) | UInt(_) | Double(_) | Decimal(_) => 2,
        String(_) => 3,
        Object(_) => 4,
        Array(_) => 5,
        Bool(_) => 6,
        Date(_) => 7,
        Time(_) => 8,
        DateTime(_) | Timestamp(_) => 9,
        Opaque(field_type::BIT, _) => 11,
        Opaque(field_type::VARCHAR | field_type::TINY_BLOB..=field_type::STRING, _) => 12,
        Opaque(..) => 10,
    }
}

/// An exact number.
fn decimal(value: &JsonView<'_>) -> Option<Decimal> {
    match value {
        JsonView::Int(v) => Some(Decimal::from_i64(*v)),
        JsonView::UInt(v) => Some(Decimal::from_u64(*v)),
        JsonView::Decimal(v) => Some(*v),
        _ => None,
    }
}

/// A number of any type as the nearest double, and the difference to what that double stands for: the shortest decimal that
/// reads back as it, which MySQL compares. So 9.223372036854776e18 is 9223372036854776000. All integers and about 32 digits
/// of a DECIMAL are exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub nearest: f64,
    pub rest: f64,
}

impl Number {
    pub fn of(value: &JsonView<'_>) -> Option<Self> {
        const EXACT: u64 = 1 << 53;
        let of_double = |nearest| Some(Self { nearest, rest: 0.0 });
        match value {
            JsonView::Double(v) => return of_double(*v),
            JsonView::Int(v) if v.unsigned_abs() <= EXACT => return of_double(*v as f64),
            JsonView::UInt(v) if *v <= EXACT => return of_double(*v as f64),
            _ => {}
        }
        let exact = decimal(value)?;
        let nearest = exact.to_f64();
        let rest = match Decimal::from_f64(nearest) {
            Some(near) => exact.sub(&near).map_or(0.0, |rest| rest.to_f64()),
            // The double has more digits than any DECIMAL.
            None => -nearest.signum(),
        };
        Some(Self { nearest, rest })
    }

    fn compare(self, other: Self) -> Ordering {
        let order = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        order(self.nearest, other.nearest).then(order(self.rest, other.rest))
    }
}
