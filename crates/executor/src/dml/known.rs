//! What keys hold that a statement has locked. A statement of one row has a few, which are found soonest by looking at one
//! after the other.

use hashbrown::HashMap;

const FEW: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Known {
    few: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// All of them, once there are more.
    many: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Known {
    /// The outer `None`: nothing is known.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let value = match self.many.is_empty() {
            true => &self.few.iter().find(|(other, _)| other == key)?.1,
            false => self.many.get(key)?,
        };
        Some(value.as_deref())
    }

    /// Takes keys that are not known yet.
    pub fn extend(&mut self, keys: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) {
        for (key, value) in keys {
            if self.many.is_empty() && self.few.len() < FEW {
                self.few.push((key, value));
            } else {
                self.many.extend(self.few.drain(..));
                self.many.insert(key, value);
            }
        }
    }

    pub fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_and_many_are_known_alike() {
        let key = |n: usize| n.to_be_bytes().to_vec();
        let mut known = Known::default();
        for count in [1, FEW, FEW + 1, 100] {
            let value = |n: usize| n.is_multiple_of(2).then(|| key(n + 1));
            known.extend((0..count).map(|n| (key(n), value(n))));
            for n in 0..count {
                assert_eq!(known.get(&key(n)), Some(value(n).as_deref()));
            }
            assert_eq!(known.get(&key(count)), None);
            known.clear();
            assert_eq!(known.get(&key(0)), None);
        }
    }
}
