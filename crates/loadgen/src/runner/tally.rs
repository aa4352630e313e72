//! Latencies in histograms, and the figures derived from them.

use hdrhistogram::Histogram;

use super::samples::Sample;
use crate::result::Latency;

/// Three digits of every latency, whatever its size.
const DIGITS: u8 = 3;
/// One hour; longer latencies count as that.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Successful operations' latencies, and how many failed.
#[derive(Debug, Clone)]
pub struct Tally {
    latencies_ns: Histogram<u64>,
    pub errors: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            latencies_ns: Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
                .unwrap_or_else(|_| unreachable!("constant bounds of a histogram")),
            errors: 0,
        }
    }
}

impl Tally {
    pub fn add(&mut self, sample: Sample) {
        if sample.failed {
            self.errors += 1;
        } else {
            self.latencies_ns.saturating_record(sample.latency_ns.max(1));
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.errors += other.errors;
        // The bounds are the same, so adding cannot fail.
        let _ = self.latencies_ns.add(&other.latencies_ns);
    }

    pub fn clear(&mut self) {
        self.latencies_ns.reset();
        self.errors = 0;
    }

    /// Successful operations.
    pub fn count(&self) -> u64 {
        self.latencies_ns.len()
    }

    pub fn latency(&self) -> Latency {
        let us = |quantile| self.latencies_ns.value_at_quantile(quantile) as f64 / 1000.0;
        Latency {
            mean_us: self.latencies_ns.mean() / 1000.0,
            p50_us: us(0.50),
            p90_us: us(0.90),
            p95_us: us(0.95),
            p99_us: us(0.99),
            p999_us: us(0.999),
            max_us: self.latencies_ns.max() as f64 / 1000.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(latency_ns: u64) -> Sample {
        Sample {
            latency_ns,
            operation: 0,
            statements: 1,
            failed: false,
        }
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut low, mut high, mut all) = (Tally::default(), Tally::default(), Tally::default());
        for i in 1..=1000u64 {
            let sample = sample(i * 10_000);
            all.add(sample);
            if i % 2 == 0 {
                low.add(sample)
            } else {
                high.add(sample)
            }
        }
        high.add(Sample {
            failed: true,
            ..sample(1)
        });
        low.merge(&high);
        assert_eq!((low.count(), low.errors), (1000, 1));
        let (merged, all) = (low.latency(), all.latency());
        assert_eq!(merged, all);
        for (found, expected) in [(all.p50_us, 5000.0), (all.p99_us, 9900.0), (all.max_us, 10_000.0)] {
            assert!((found - expected).abs() / expected < 0.002, "{found} {expected}");
        }
    }

    #[test]
    fn very_long_latencies_are_counted_too() {
        let mut tally = Tally::default();
        tally.add(sample(u64::MAX));
        tally.add(sample(0));
        assert_eq!(tally.count(), 2);
        tally.clear();
        assert_eq!(tally.count(), 0);
        assert_eq!(tally.latency().max_us, 0.0);
    }
}
