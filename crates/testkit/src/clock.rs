//! A wall clock as bad as real ones, and reproducible.

use kv::Clock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Mostly advances slowly; sometimes stands still, jumps, or goes back. Its values depend only on the seed
/// and on how often it was read.
#[derive(Debug)]
pub struct SeededClock {
    seed: u64,
    looks: AtomicU64,
    start_ms: u64,
}

impl SeededClock {
    pub fn new(seed: u64, start_ms: u64) -> Self {
        Self {
            seed,
            looks: AtomicU64::new(0),
            start_ms,
        }
    }
}

/// SplitMix64: a well distributed number for each input.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Clock for SeededClock {
    fn now_ms(&self) -> u64 {
        let look = self.looks.fetch_add(1, Ordering::SeqCst);
        let chance = mix(self.seed ^ look.wrapping_mul(0xA24B_AED4_963E_E407));
        let base = self.start_ms + look;
        match chance % 100 {
            0..=4 => base.saturating_sub(chance >> 32 & 0x3FF),
            5..=9 => base + (chance >> 32 & 0x3FF),
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_all_and_time_goes_back_now_and_then() {
        let show = |seed| {
            let clock = SeededClock::new(seed, 1_000_000);
            (0..1_000).map(|_| clock.now_ms()).collect::<Vec<_>>()
        };
        assert_eq!(show(1), show(1));
        assert_ne!(show(1), show(2));
        assert!(!show(1).is_sorted());
    }
}
