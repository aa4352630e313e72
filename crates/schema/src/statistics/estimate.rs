//! Shares of rows by a column's histogram.

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
