//! MySQL's generator of random numbers.

/// Both halves of the generator's state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence {
    first: u64,
    second: u64,
}

const MAX: u64 = 0x3fff_ffff;

impl Sequence {
    pub fn new(first: u64, second: u64) -> Self {
        Self {
            first: first % MAX,
            second: second % MAX,
        }
    }

    /// The sequence of `RAND(seed)`. MySQL computes the halves in 32 bits.
    pub fn seeded(seed: u32) -> Self {
        Self::new(
            u64::from(seed.wrapping_mul(0x10001).wrapping_add(55_555_555)),
            u64::from(seed.wrapping_mul(0x1000_0001)),
        )
    }

    pub fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % MAX;
        self.second = (self.first + self.second + 33) % MAX;
        self.first as f64 / MAX as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers `RAND(3)` for three rows, and `RAND(1)`.
    #[test]
    fn seeded_sequences_are_mysqls() {
        let mut three = Sequence::seeded(3);
        let got: Vec<f64> = (0..3).map(|_| three.next()).collect();
        assert_eq!(
            got,
            [0.9057697559760601, 0.37307905813034536, 0.14808605345719125]
        );
        assert_eq!(Sequence::seeded(1).next(), 0.40540353712197724);
    }
}
