//! sysbench's default: a few keys in the middle get most of the traffic, the others follow a bell curve.
//!
//! Three quarters of the choices (`--rand-spec-res=75`) are uniform over one per cent of the keys
//! (`--rand-spec-pct=1`) in the middle. The others are the mean of twelve uniform choices
//! (`--rand-spec-iter=12`).

use crate::random::Random;

const CENTRE_SHARE: f64 = 0.75;
const CENTRE_PART: f64 = 0.01;
const ITERATIONS: u64 = 12;

#[derive(Debug, Clone)]
pub struct Special {
    count: u64,
    centre_start: u64,
    centre_count: u64,
}

impl Special {
    pub fn new(count: u64) -> Self {
        let centre_count = ((count as f64 * CENTRE_PART) as u64).max(1);
        Self {
            count,
            centre_start: (count / 2).saturating_sub((count as f64 * CENTRE_PART / 2.0) as u64),
            centre_count,
        }
    }

    /// A key below the count; 0 if the count is 0.
    pub fn choose(&self, random: &mut Random) -> u64 {
        let key = if random.unit() < CENTRE_SHARE {
            self.centre_start + random.below(self.centre_count)
        } else {
            let sum: u64 = (0..ITERATIONS).map(|_| random.below(self.count)).sum();
            sum / ITERATIONS
        };
        key.min(self.count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_choices_are_in_the_middle_and_the_rest_is_a_bell() {
        const CHOICES: usize = 200_000;
        let special = Special::new(100_000);
        let mut random = Random::new(3);
        let keys: Vec<u64> = (0..CHOICES).map(|_| special.choose(&mut random)).collect();
        let share = |range: std::ops::Range<u64>| {
            keys.iter().filter(|key| range.contains(key)).count() as f64 / CHOICES as f64
        };
        let centre = share(49_500..50_500);
        // 75 % plus the bell's part: a quarter of about 4.8 %.
        assert!((0.755..0.77).contains(&centre), "{centre}");
        // Within a standard deviation (range / 12) of the middle: 68 % of the bell.
        let near = share(41_667..58_333);
        assert!((0.915..0.925).contains(&near), "{near}");
        assert!(share(0..10_000) < 0.0001);
    }
}
