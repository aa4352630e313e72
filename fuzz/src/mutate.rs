//! Damages valid inputs, in the same way for the same seed.

/// A small generator of random numbers (xorshift64*), the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.number() % bound as u64) as usize
        }
    }
}

/// Bytes at which lengths and counts often go wrong.
const INTERESTING: [u8; 12] = [0, 1, 7, 8, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];

/// One damaged input, made from one or two of the seeds.
pub fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        step(&mut input, seeds, random);
    }
    input
}

fn step(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len());
    match random.below(8) {
        0 if !input.is_empty() => input[at] ^= 1 << random.below(8),
        1 if !input.is_empty() => input[at] = INTERESTING[random.below(INTERESTING.len())],
        2 => input.insert(at, random.number() as u8),
        3 if !input.is_empty() => {
            input.remove(at);
        }
        4 => input.truncate(at),
        5 => {
            let end = at + random.below(input.len() - at + 1).min(64);
            let piece = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            input.splice(to..to, piece);
        }
        6 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        _ => {
            let count = random.below(9);
            input.extend((0..count).map(|_| random.number() as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let seeds = vec![b"SELECT 1".to_vec(), vec![]];
        let run = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| mutate(&seeds, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
