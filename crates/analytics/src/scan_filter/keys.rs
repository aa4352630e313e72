//! A set of integers with false positives: a bitmap or a Bloom filter.

use std::sync::OnceLock;

/// With more keys no set is made: so large a right side rarely excludes rows of the left side.
pub const KEYS_MAX: usize = 1 << 20;

/// The most bits that a bitmap may have for each key. A sparser set becomes a Bloom filter.
const BITMAP_BITS_A_KEY: u64 = 64;
const BITMAP_BITS_MIN: u64 = 1 << 16;
/// A Bloom filter of at most this many keys has a sorted list of them, too.
const LISTED_MAX: usize = 1 << 16;
/// The size of a Bloom filter: about one in fifty keys outside the set passes.
const BLOOM_BITS_A_KEY: usize = 16;

/// A set that becomes known when the right side of a join has been read.
#[derive(Debug, Default)]
pub struct PendingKeys(OnceLock<KeySet>);

impl PendingKeys {
    /// The set. `None`: it is not known yet, or never will be.
    #[inline]
    pub fn get(&self) -> Option<&KeySet> {
        self.0.get()
    }

    pub fn set(&self, keys: &[i64]) {
        // There is one collector for each set, which ends once.
        let _ = self.0.set(KeySet::of(keys));
    }
}

#[derive(Debug)]
pub struct KeySet {
    low: i64,
    high: i64,
    words: Vec<u64>,
    /// Set for a Bloom filter: the shift that turns a hash into the index of a word.
    bloom_shift: Option<u32>,
    /// The keys in order, if a Bloom filter has few.
    listed: Vec<i64>,
}

/// What follows a value in the order of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Following {
    Key(i64),
    Nothing,
    Unknown,
}

impl KeySet {
    fn of(keys: &[i64]) -> Self {
        let (Some(&low), Some(&high)) = (keys.iter().min(), keys.iter().max()) else {
            // No key is in this range.
            return Self {
                low: i64::MAX,
                high: i64::MIN,
                words: Vec::new(),
                bloom_shift: None,
                listed: Vec::new(),
            };
        };
        let spread = high.abs_diff(low);
        if spread < (keys.len() as u64 * BITMAP_BITS_A_KEY).max(BITMAP_BITS_MIN) {
            let mut words = vec![0; spread as usize / 64 + 1];
            for key in keys {
                let bit = key.abs_diff(low) as usize;
                words[bit / 64] |= 1 << (bit % 64);
            }
            return Self {
                low,
                high,
                words,
                bloom_shift: None,
                listed: Vec::new(),
            };
        }
        let count = (keys.len() * BLOOM_BITS_A_KEY / 64).next_power_of_two().max(2);
        let shift = 64 - count.trailing_zeros();
        let mut words = vec![0; count];
        for &key in keys {
            let hash = hash(key);
            words[(hash >> shift) as usize] |= bits(hash);
        }
        let mut listed = match keys.len() {
            ..=LISTED_MAX => keys.to_vec(),
            _ => Vec::new(),
        };
        listed.sort_unstable();
        Self {
            low,
            high,
            words,
            bloom_shift: Some(shift),
            listed,
        }
    }

    /// The least key of the set that is greater than a value.
    pub fn following(&self, value: i64) -> Following {
        if value >= self.high {
            return Following::Nothing;
        }
        if value < self.low {
            return Following::Key(self.low);
        }
        if self.bloom_shift.is_some() {
            let next = self.listed.partition_point(|key| *key <= value);
            return self
                .listed
                .get(next)
                .map_or(Following::Unknown, |key| Following::Key(*key));
        }
        let first = value.abs_diff(self.low) as usize + 1;
        let mut rest = self
            .words
            .get(first / 64)
            .map_or(0, |word| word >> (first % 64) << (first % 64));
        for (number, word) in self.words.iter().enumerate().skip(first / 64) {
            if number > first / 64 {
                rest = *word;
            }
            if rest != 0 {
                let bit = number as u64 * 64 + u64::from(rest.trailing_zeros());
                return Following::Key(self.low.wrapping_add_unsigned(bit));
            }
        }
        Following::Unknown
    }

    /// Whether the set may contain the key.
    #[inline]
    pub fn may_contain(&self, key: i64) -> bool {
        if key < self.low || key > self.high {
            return false;
        }
        match self.bloom_shift {
            None => {
                let bit = key.abs_diff(self.low) as usize;
                self.words
                    .get(bit / 64)
                    .is_some_and(|word| word >> (bit % 64) & 1 == 1)
            }
            Some(shift) => {
                let hash = hash(key);
                let bits = bits(hash);
                self.words
                    .get((hash >> shift) as usize)
                    .is_some_and(|word| word & bits == bits)
            }
        }
    }
}

/// The finalizer of MurmurHash3.
#[inline]
fn hash(key: i64) -> u64 {
    let mut hash = key as u64;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// The bits of a key within its word.
#[inline]
fn bits(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_keys_are_exact() {
        let keys: Vec<i64> = (-500..500).map(|n| n * 3).collect();
        let set = KeySet::of(&keys);
        assert!(set.bloom_shift.is_none());
        for key in -2_000..2_000 {
            assert_eq!(set.may_contain(key), keys.contains(&key), "{key}");
        }
        assert!(!set.may_contain(i64::MIN) && !set.may_contain(i64::MAX));
    }

    #[test]
    fn sparse_keys_are_never_missed() {
        let keys: Vec<i64> = (0..10_000)
            .map(|n: i64| n.wrapping_mul(0x1234_5678_9abc_def1))
            .collect();
        let set = KeySet::of(&keys);
        assert!(set.bloom_shift.is_some());
        assert!(keys.iter().all(|&key| set.may_contain(key)));
        let others = (0..10_000)
            .filter(|n: &i64| set.may_contain(n * 7_919 + 1))
            .count();
        assert!(others < 500, "{others}");
    }

    #[test]
    fn the_next_key_is_found() {
        let dense: Vec<i64> = (-500..500).map(|n| n * 3).collect();
        let sparse: Vec<i64> = (0..1_000_i64).map(|n| n * n * 1_000_003).collect();
        for keys in [dense, sparse] {
            let set = KeySet::of(&keys);
            assert_eq!(set.following(i64::MIN), Following::Key(keys[0]));
            for pair in keys.windows(2) {
                for value in [pair[0], pair[0] + 1, pair[1] - 1] {
                    assert_eq!(set.following(value), Following::Key(pair[1]), "after {value}");
                }
            }
            assert_eq!(set.following(keys[keys.len() - 1]), Following::Nothing);
        }
        assert_eq!(KeySet::of(&[]).following(7), Following::Nothing);
        let many: Vec<i64> = (0..100_000_i64).map(|n| n * 1_000_003).collect();
        assert_eq!(KeySet::of(&many).following(7), Following::Unknown);
    }

    #[test]
    fn the_ends_of_the_range_and_nothing_at_all() {
        let set = KeySet::of(&[i64::MIN, i64::MAX]);
        assert!(set.may_contain(i64::MIN) && set.may_contain(i64::MAX));
        assert!(!KeySet::of(&[]).may_contain(0));
    }
}
