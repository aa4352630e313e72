//! From the values of a sample to a histogram.

use types::SqlType;

use super::{Bucket, ColumnStatistics};

/// The sort keys of a sample's values.
#[derive(Debug, Default)]
pub struct ColumnValues {
    /// Each with the run of neighbouring rows that it was read in.
    pub keys: Vec<(Vec<u8>, u32)>,
    pub nulls: u64,
}

/// About how many different values a table of `total` rows has, if a random sample of `sampled` rows has
/// `distinct`, of which `once` come a single time. Source: Haas and Stokes, "Estimating the number of classes
/// in a finite population" (1998), the estimator Duj1.
fn distinct_of_sample(sampled: u64, distinct: u64, once: u64, total: u64) -> u64 {
    if sampled == 0 || sampled >= total {
        return distinct;
    }
    let (n, d, f1, total) = (sampled as f64, distinct as f64, once as f64, total as f64);
    let estimate = n * d / (n - f1 + f1 * n / total);
    (estimate.round() as u64).clamp(distinct, total as u64)
}

/// About how many different values a table of `total` rows has, by a sample of runs of neighbouring rows:
/// sorted values, each with its run. A value counts once in each run. Values that lie together, as those of
/// the leading part of a key do, would otherwise look as if the sample had seen nearly all of them.
pub fn distinct_of_runs<T: PartialEq>(sorted: &[(T, u32)], total: u64) -> u64 {
    let sampled = sorted.len() as u64;
    let (mut seen, mut distinct, mut once) = (0, 0, 0);
    for run in sorted.chunk_by(|a, b| a.0 == b.0) {
        let runs = run.chunk_by(|a, b| a.1 == b.1).count() as u64;
        seen += runs;
        distinct += 1;
        once += u64::from(runs == 1);
    }
    if sampled >= total {
        return distinct;
    }
    let all = (seen as f64 / sampled.max(1) as f64 * total as f64).round() as u64;
    distinct_of_sample(seen, distinct, once, all)
}

impl ColumnValues {
    /// What the sample says of the column of a table of `total` rows.
    pub fn finish(mut self, id: i64, ty: SqlType, total: u64, buckets: usize) -> ColumnStatistics {
        self.keys.sort_unstable();
        let sampled = self.keys.len() as u64 + self.nulls;
        let distinct = self.keys.chunk_by(|a, b| a.0 == b.0).count() as u64;
        let nulls = self.nulls as f64 / sampled.max(1) as f64;
        let values = (total as f64 * (1.0 - nulls)).round() as u64;
        let all_distinct = distinct_of_runs(&self.keys, values);
        ColumnStatistics {
            id,
            ty,
            distinct: all_distinct,
            nulls,
            buckets: compressed(&self.keys, sampled, distinct, all_distinct, buckets.max(1)),
        }
    }
}

/// A bucket of its own for each value that alone fills one, and buckets of about equal size for the others.
fn compressed(keys: &[(Vec<u8>, u32)], sampled: u64, distinct: u64, all: u64, buckets: usize) -> Vec<Bucket> {
    let full = if distinct as usize <= buckets {
        0
    } else {
        keys.len() / buckets
    };
    // The sample has not seen all values between two others.
    let scale = all as f64 / distinct.max(1) as f64;
    let share = |rows: usize| rows as f64 / sampled as f64;
    let mut made: Vec<Bucket> = Vec::new();
    let (mut rows, mut values, mut lower) = (0, 0u64, None);
    let flush = |made: &mut Vec<Bucket>,
                 lower: &mut Option<&Vec<u8>>,
                 upper: &Vec<u8>,
                 rows: &mut usize,
                 values: &mut u64| {
        if let Some(lower) = lower.take() {
            made.push(Bucket {
                lower: lower.clone(),
                upper: upper.clone(),
                share: share(std::mem::take(rows)),
                distinct: (std::mem::take(values) as f64 * scale).round() as u64,
            });
        }
    };
    let mut last: Option<&Vec<u8>> = None;
    for run in keys.chunk_by(|a, b| a.0 == b.0) {
        let key = &run[0].0;
        if run.len() > full && (full == 0 || run.len() > 1) {
            if let Some(last) = last {
                flush(&mut made, &mut lower, last, &mut rows, &mut values);
            }
            made.push(Bucket {
                lower: key.clone(),
                upper: key.clone(),
                share: share(run.len()),
                distinct: 1,
            });
        } else {
            lower.get_or_insert(key);
            rows += run.len();
            values += 1;
            if rows >= full {
                flush(&mut made, &mut lower, key, &mut rows, &mut values);
            }
        }
        last = Some(key);
    }
    if let Some(last) = last {
        flush(&mut made, &mut lower, last, &mut rows, &mut values);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Bound, sort_key};
    use types::Value;

    const BUCKETS: usize = 64;

    fn column(values: impl Iterator<Item = i64>, total: u64) -> ColumnStatistics {
        let key = |value| sort_key(&Value::Int(value), &SqlType::BIGINT);
        let values = ColumnValues {
            keys: values.filter_map(key).zip(0..).collect(),
            nulls: 0,
        };
        values.finish(1, SqlType::BIGINT, total, BUCKETS)
    }

    fn key(value: i64) -> Vec<u8> {
        sort_key(&Value::Int(value), &SqlType::BIGINT).unwrap()
    }

    fn bound(value: i64, inclusive: bool) -> Option<Bound> {
        let key = key(value);
        Some(Bound { key, inclusive })
    }

    #[test]
    fn shares_of_ranges_are_about_right() {
        let column = column(0..10_000, 10_000);
        assert_eq!(column.distinct, 10_000);
        assert!(column.buckets.len() <= BUCKETS + 1);
        let all = column.share_between(None, None);
        assert!((all - 1.0).abs() < 1e-9, "{all}");
        for (low, high) in [(0, 100), (2_500, 7_500), (9_990, 9_999)] {
            let share = column.share_between(bound(low, true).as_ref(), bound(high, false).as_ref());
            let expected = (high - low) as f64 / 10_000.0;
            assert!((share - expected).abs() < 0.002, "{low} {high}: {share}");
        }
        assert!(column.share_between(bound(20_000, true).as_ref(), None) < 1e-3);
        assert!((column.share_equal(&key(77)) - 1e-4).abs() < 1e-5);
    }

    #[test]
    fn a_frequent_value_has_its_own_bucket() {
        let column = column((0..10_000).map(|n| if n % 2 == 0 { 7 } else { n }), 10_000);
        assert!((column.share_equal(&key(7)) - 0.5).abs() < 1e-3);
        assert!(column.share_equal(&key(501)) < 1e-3);
        let other = column.share_between(bound(7, false).as_ref(), None);
        assert!((other - 0.5).abs() < 1e-2, "{other}");
    }

    #[test]
    fn few_values_are_counted_one_by_one() {
        let column = column((0..1_000).map(|n| n % 3), 1_000);
        assert_eq!((column.distinct, column.buckets.len()), (3, 3));
        assert!((column.share_equal(&key(1)) - 0.333).abs() < 1e-3);
        assert_eq!(column.buckets[0].distinct, 1);
    }

    #[test]
    fn a_sample_of_unique_values_says_that_all_are() {
        assert_eq!(distinct_of_sample(1_000, 1_000, 1_000, 1_000_000), 1_000_000);
        assert_eq!(distinct_of_sample(1_000, 10, 0, 1_000_000), 10);
        assert_eq!(distinct_of_sample(1_000, 1_000, 1_000, 1_000), 1_000);
        assert_eq!(distinct_of_sample(0, 0, 0, 10), 0);
    }

    #[test]
    fn values_that_lie_together_are_not_taken_for_all() {
        // 100 runs of 40 rows, four rows for each value.
        let clustered: Vec<(u32, u32)> = (0..4_000).map(|row| (row / 4, row / 40)).collect();
        assert_eq!(distinct_of_runs(&clustered, 400_000), 100_000);
        // The same ten values in every run.
        let mut few: Vec<(u32, u32)> = (0..4_000).map(|row| (row % 10, row / 40)).collect();
        few.sort_unstable();
        assert_eq!(distinct_of_runs(&few, 400_000), 10);
        assert_eq!(distinct_of_runs(&clustered, 4_000), 1_000);
    }
}
