//! Zipf's law: the key of rank k is chosen with a probability proportional to 1 / k^s.
//!
//! By rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", 1996): exact, no table, and no sum over all keys at the start.

use crate::random::Random;

#[derive(Debug, Clone)]
pub struct Zipf {
    count: u64,
    exponent: f64,
    /// The integral of the hat function at its left and right ends.
    low: f64,
    high: f64,
    /// This close to a rank, the hat function need not be compared.
    sure: f64,
}

impl Zipf {
    /// The exponent of YCSB.
    pub const EXPONENT: f64 = 0.99;

    /// `exponent` must be above 0.
    pub fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            count,
            exponent,
            low: 0.0,
            high: 0.0,
            sure: 0.0,
        };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(count as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.hat(2.0));
        zipf
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// A rank below the count, 0 the most popular.
    pub fn choose(&self, random: &mut Random) -> u64 {
        if self.count < 2 {
            return 0;
        }
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let rank = x.round().clamp(1.0, self.count as f64);
            if rank - x <= self.sure || u >= self.integral(rank + 0.5) - self.hat(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn hat(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// (x^(1-s) - 1) / (1 - s), and its limit ln x where s is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        // Near 0 the quotient is replaced by its series, since subtraction would cancel all digits.
        let quotient = if t.abs() > 1e-8 {
            t.exp_m1() / t
        } else {
            1.0 + t / 2.0
        };
        quotient * log
    }

    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.exponent)).max(-1.0);
        let quotient = if t.abs() > 1e-8 {
            t.ln_1p() / t
        } else {
            1.0 - t / 2.0
        };
        (quotient * y).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_follow_the_law() {
        const CHOICES: u64 = 1_000_000;
        const COUNT: u64 = 1000;
        for exponent in [0.5, 0.99, 1.0, 1.2] {
            let zipf = Zipf::new(COUNT, exponent);
            let mut random = Random::new(5);
            let mut found = vec![0u64; COUNT as usize];
            for _ in 0..CHOICES {
                found[zipf.choose(&mut random) as usize] += 1;
            }
            let weights: Vec<f64> = (1..=COUNT).map(|k| (k as f64).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            for rank in [0, 1, 2, 9, 99, 999] {
                let expected = CHOICES as f64 * weights[rank] / sum;
                let deviation = (found[rank] as f64 - expected).abs() / expected.sqrt();
                assert!(
                    deviation < 5.0,
                    "s {exponent} rank {rank}: {} {expected}",
                    found[rank]
                );
            }
        }
    }
}
