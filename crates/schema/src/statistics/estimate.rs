//! Shares of rows by a column's histogram.

use types::Value;

use super::{Bound, Bucket, ColumnStatistics, KEY_BYTES_MAX};

impl ColumnStatistics {
    /// The share of rows with one value of which nothing more is known.
    pub fn share_of_any(&self) -> f64 {
        (1.0 - self.nulls) / self.distinct.max(1) as f64
    }

    /// The share of rows with this value.
    pub fn share_equal(&self, key: &[u8]) -> f64 {
        let at = self
            .buckets
            .partition_point(|bucket| bucket.upper.as_slice() < key);
        let found = self
            .buckets
            .get(at)
            .filter(|bucket| bucket.lower.as_slice() <= key);
        match found {
            Some(bucket) => bucket.share / bucket.distinct.max(1) as f64,
            // It was not there, or not in the sample. The table may have it by now.
            None => self.least_share().min(self.share_of_any()),
        }
    }

    /// The share of rows with values between two bounds.
    pub fn share_between(&self, lower: Option<&Bound>, upper: Option<&Bound>) -> f64 {
        let below = |bound: Option<&Bound>, otherwise: f64, includes: bool| {
            bound.map_or(otherwise, |bound| {
                let cut = bound.key.get(..KEY_BYTES_MAX).unwrap_or(&bound.key);
                self.share_below(cut, bound.inclusive == includes)
            })
        };
        let values: f64 = self.buckets.iter().map(|bucket| bucket.share).sum();
        let share = below(upper, values, true) - below(lower, 0.0, false);
        share.max(self.least_share()).min(1.0)
    }

    /// The value that has a share of the column's values below it; NULLs aside. `None` where values cannot be read
    /// back from their sort keys.
    pub fn value_at(&self, share: f64) -> Option<Value> {
        let all: f64 = self.buckets.iter().map(|bucket| bucket.share).sum();
        let mut rest = share * all;
        for bucket in &self.buckets {
            if rest <= bucket.share {
                return self.value_within(bucket, rest / bucket.share.max(f64::MIN_POSITIVE));
            }
            rest -= bucket.share;
        }
        self.value_within(self.buckets.last()?, 1.0)
    }

    /// Numbers lie evenly within a bucket; of other values one end is taken.
    fn value_within(&self, bucket: &Bucket, part: f64) -> Option<Value> {
        let value = |mut key: &[u8]| codec::datum::decode(&mut key, &self.ty).ok();
        let (lower, upper) = (value(&bucket.lower)?, value(&bucket.upper)?);
        let between = |lower: f64, upper: f64| lower + (upper - lower) * part;
        Some(match (lower, upper) {
            (Value::Int(lower), Value::Int(upper)) => Value::Int(between(lower as f64, upper as f64) as i64),
            (Value::UInt(lower), Value::UInt(upper)) if self.ty.is_integer() => {
                Value::UInt(between(lower as f64, upper as f64) as u64)
            }
            (Value::Double(lower), Value::Double(upper)) => Value::Double(between(lower, upper)),
            (lower, _) if part < 0.5 => lower,
            (_, upper) => upper,
        })
    }

    /// Less than any value's share: no range is taken to be empty.
    fn least_share(&self) -> f64 {
        self.share_of_any() / 2.0
    }

    /// The share of rows with values below a key, or up to it.
    fn share_below(&self, key: &[u8], includes: bool) -> f64 {
        let mut share = 0.0;
        for bucket in &self.buckets {
            if bucket.upper.as_slice() < key {
                share += bucket.share;
                continue;
            }
            if bucket.lower.as_slice() <= key {
                share += bucket.share * part_below(bucket, key, includes);
            }
            break;
        }
        share
    }
}

/// The part of a bucket's rows below a key within it: values are taken to lie evenly.
fn part_below(bucket: &Bucket, key: &[u8], includes: bool) -> f64 {
    let one = if includes {
        1.0 / bucket.distinct.max(1) as f64
    } else {
        0.0
    };
    if bucket.lower == bucket.upper {
        return if includes { 1.0 } else { 0.0 };
    }
    let common = bucket
        .lower
        .iter()
        .zip(&bucket.upper)
        .take_while(|(a, b)| a == b)
        .count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        for (place, byte) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *place = *byte;
        }
        u64::from_be_bytes(bytes) as f64
    };
    let (low, high) = (number(&bucket.lower), number(&bucket.upper));
    if high <= low {
        return 0.5;
    }
    ((number(key) - low) / (high - low) * (1.0 - one) + one).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use types::{Collation, SqlType};

    use super::*;
    use crate::statistics::sort_key;

    fn column(ty: SqlType, buckets: &[(Value, Value, f64)]) -> ColumnStatistics {
        let key = |value: &Value| sort_key(value, &ty).unwrap();
        ColumnStatistics {
            id: 1,
            ty,
            distinct: 100,
            nulls: 0.5,
            buckets: buckets
                .iter()
                .map(|(lower, upper, share)| Bucket {
                    lower: key(lower),
                    upper: key(upper),
                    share: *share,
                    distinct: 10,
                })
                .collect(),
        }
    }

    #[test]
    fn a_value_has_its_share_below_it() {
        let int = Value::Int;
        let numbers = column(
            SqlType::BIGINT,
            &[(int(0), int(100), 0.4), (int(200), int(200), 0.1)],
        );
        let at = |share| numbers.value_at(share).unwrap();
        assert_eq!([at(0.0), at(0.2), at(0.4)], [int(0), int(25), int(50)]);
        assert_eq!([at(0.9), at(1.0)], [int(200), int(200)]);
        let day = |day: u64| Value::UInt(day << 41);
        let days = column(SqlType::DATE, &[(day(1), day(9), 0.5)]);
        assert_eq!(
            (days.value_at(0.2), days.value_at(0.8)),
            (Some(day(1)), Some(day(9)))
        );
        let text = Value::from("a");
        let texts = column(
            SqlType::varchar(9, Collation::DEFAULT),
            &[(text.clone(), text, 0.5)],
        );
        assert_eq!(texts.value_at(0.5), None, "a text's sort key is not the text");
        assert_eq!(column(SqlType::BIGINT, &[]).value_at(0.5), None);
    }
}
