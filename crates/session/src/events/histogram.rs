//! Latencies in MySQL's 450 buckets: the first one ends at 10 us, and the bounds grow by a factor of ten
//! every fifty buckets.

use std::sync::LazyLock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub const BUCKETS: usize = 450;
/// The number of buckets that are allocated together, because the latencies of one statement are close to
/// each other.
const CHUNK: usize = 18;
const CHUNKS: usize = BUCKETS / CHUNK;
/// The fiftieth root of ten.
const FACTOR: f64 = 1.047_128_548_050_899_6;
/// How many parts an octave is divided into, to find a bucket.
const PARTS: u32 = 16;

/// The upper bounds in picoseconds, as MySQL shows them. The last bucket has no bound.
pub static BOUNDS_PS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    // Computed by repeated multiplication, as in MySQL, because the last digits depend on it.
    let bounds = std::iter::successors(Some(10_000_000.0), |bound| Some(bound * FACTOR));
    let bounds = bounds.take(BUCKETS - 1).map(|bound: f64| bound as u64);
    bounds.chain([u64::MAX]).collect()
});

/// The bounds in nanoseconds, and for each sixteenth of an octave the bucket in which it begins.
static INDEX: LazyLock<(Vec<u64>, Vec<u16>)> = LazyLock::new(|| {
    let bounds: Vec<u64> = BOUNDS_PS.iter().map(|ps| ps.div_ceil(1000)).collect();
    let first = |slot: u32| {
        let (octave, part) = (slot / PARTS, slot % PARTS);
        let start = (1u128 << octave) + ((u128::from(part) << octave) / u128::from(PARTS));
        bounds.partition_point(|&bound| u128::from(bound) <= start) as u16
    };
    let slots = (0..64 * PARTS).map(first).collect();
    (bounds, slots)
});

/// The bucket of a latency.
#[inline]
pub fn bucket(ns: u64) -> usize {
    let (bounds, slots) = &*INDEX;
    let ns = ns.max(1);
    let octave = ns.ilog2();
    let part = match octave {
        0..4 => (ns << (4 - octave)) & 15,
        _ => (ns >> (octave - 4)) & 15,
    };
    let mut bucket = usize::from(slots[octave as usize * PARTS as usize + part as usize]).min(BUCKETS - 1);
    while bucket < BUCKETS - 1 && ns >= bounds[bucket] {
        bucket += 1;
    }
    bucket
}

/// How many latencies were in each bucket.
pub struct Histogram {
    chunks: [OnceLock<Box<[AtomicU64; CHUNK]>>; CHUNKS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&self, ns: u64) {
        let bucket = bucket(ns);
        let chunk = self.chunks[bucket / CHUNK].get_or_init(Box::default);
        chunk[bucket % CHUNK].fetch_add(1, Ordering::Relaxed);
    }

    pub fn add_to(&self, counts: &mut [u64; BUCKETS]) {
        for (chunk, counts) in self.chunks.iter().zip(counts.chunks_exact_mut(CHUNK)) {
            let Some(chunk) = chunk.get() else { continue };
            for (counter, count) in chunk.iter().zip(counts) {
                *count += counter.load(Ordering::Relaxed);
            }
        }
    }

    pub fn reset(&self) {
        for counter in self
            .chunks
            .iter()
            .filter_map(OnceLock::get)
            .flat_map(|chunk| chunk.iter())
        {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// The upper bound, in picoseconds, of the bucket up to which a given share of all latencies lies.
pub fn quantile(counts: &[u64; BUCKETS], share: f64) -> u64 {
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return 0;
    }
    let wanted = (total as f64 * share).ceil() as u64;
    let mut seen = 0;
    for (count, bound) in counts.iter().zip(&*BOUNDS_PS) {
        seen += count;
        if seen >= wanted {
            return *bound;
        }
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_mysql() {
        let bounds = &*BOUNDS_PS;
        assert_eq!(bounds[..4], [10_000_000, 10_471_285, 10_964_781, 11_481_536]);
        assert_eq!(
            (bounds[100], bounds[448], bounds[449]),
            (1_000_000_000, 9_120_108_393_559_408, u64::MAX)
        );
    }

    #[test]
    fn a_latency_lies_below_the_bound_of_its_bucket() {
        let mut ns = 1u64;
        while ns < u64::MAX / 3 {
            let at = bucket(ns);
            assert!(at == BUCKETS - 1 || ns < BOUNDS_PS[at].div_ceil(1000), "{ns}");
            assert!(at == 0 || ns >= BOUNDS_PS[at - 1].div_ceil(1000), "{ns}");
            ns += 1 + ns / 37;
        }
        assert_eq!(
            (bucket(0), bucket(9_999), bucket(10_000), bucket(u64::MAX)),
            (0, 0, 1, 449)
        );
    }

    #[test]
    fn quantiles() {
        let histogram = Histogram::default();
        for us in 1..=100 {
            histogram.record(us * 1_000_000);
        }
        let mut counts = [0; BUCKETS];
        histogram.add_to(&mut counts);
        assert_eq!(counts.iter().sum::<u64>(), 100);
        let p95 = quantile(&counts, 0.95);
        assert!((95_000_000_000..105_000_000_000).contains(&p95), "{p95}");
        histogram.reset();
        counts = [0; BUCKETS];
        histogram.add_to(&mut counts);
        assert_eq!(quantile(&counts, 0.95), 0);
    }
}
