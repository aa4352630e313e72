//! How keys are chosen: uniformly, by Zipf's law, or by sysbench's default distribution.

mod special;
mod zipf;

pub use special::Special;
pub use zipf::Zipf;

use crate::random::Random;

/// Chooses keys in `0..count`.
#[derive(Debug, Clone)]
pub enum Distribution {
    Uniform {
        count: u64,
    },
    Special(Special),
    /// Popular keys are spread over the whole range.
    Zipfian(Zipf),
}

impl Distribution {
    pub fn uniform(count: u64) -> Self {
        Self::Uniform { count }
    }

    pub fn special(count: u64) -> Self {
        Self::Special(Special::new(count))
    }

    pub fn zipfian(count: u64) -> Self {
        Self::Zipfian(Zipf::new(count, Zipf::EXPONENT))
    }

    /// A key below the count; 0 if the count is 0.
    pub fn choose(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform { count } => random.below(*count),
            Self::Special(special) => special.choose(random),
            Self::Zipfian(zipf) => {
                let rank = zipf.choose(random);
                crate::random::mix(rank.wrapping_add(1))
                    .checked_rem(zipf.count())
                    .unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_in_range() {
        let mut random = Random::new(1);
        for count in [0, 1, 2, 7, 1000] {
            for distribution in [
                Distribution::uniform(count),
                Distribution::special(count),
                Distribution::zipfian(count),
            ] {
                for _ in 0..1000 {
                    let key = distribution.choose(&mut random);
                    assert!(key < count.max(1), "{distribution:?} {key}");
                }
            }
        }
    }

    #[test]
    fn popular_keys_are_spread() {
        let distribution = Distribution::zipfian(1000);
        let mut random = Random::new(1);
        let low = (0..10_000)
            .filter(|_| distribution.choose(&mut random) < 10)
            .count();
        // Without spreading, the ten lowest would have over a third.
        assert!(low < 2500, "{low}");
    }
}
