//! Random numbers from a seed: the same seed gives the same run.

/// SplitMix64 (Steele, Lea and Flood, 2014): eight bytes of state, good enough to spread keys.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of the modulo is below 2^-40 for the bounds used here.
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        // 53 bits: what a double holds.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `length` letters and digits.
    pub fn text(&mut self, length: usize) -> String {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz 23456";
        let mut out = String::with_capacity(length);
        let mut bits = 0;
        for i in 0..length {
            if i % 12 == 0 {
                bits = self.next_u64();
            }
            out.push(char::from(ALPHABET[(bits & 31) as usize]));
            bits >>= 5;
        }
        out
    }
}

/// Mixes a number's bits: spreads sequence numbers over keys, the same way every time.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_choices() {
        let choices = |seed| -> Vec<u64> {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.below(1000)).collect()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
        assert!(choices(7).iter().all(|n| *n < 1000));
    }

    #[test]
    fn text_has_the_length_asked_for() {
        let mut random = Random::new(1);
        for length in [0, 1, 12, 13, 500] {
            assert_eq!(random.text(length).len(), length);
        }
    }
}
