//! The values under keys that a statement has locked. A statement of one row has a few keys, which are found
//! fastest by a linear search.

use hashbrown::HashMap;

const FEW: usize = 8;

#[derive(Debug, Default)]
pub(super) struct LockedValues {
    few: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// All keys, once there are more than a few.
    many: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

impl LockedValues {
    /// The outer `None`: the key is not here.
    pub fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let value = match self.many.is_empty() {
            true => &self.few.iter().find(|(other, _)| other == key)?.1,
            false => self.many.get(key)?,
        };
        Some(value.as_deref())
    }

    /// Adds keys that are not here yet.
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
    fn a_few_and_many_keys_are_found() {
        let key = |n: usize| n.to_be_bytes().to_vec();
        let mut locked = LockedValues::default();
        for count in [1, FEW, FEW + 1, 100] {
            let value = |n: usize| n.is_multiple_of(2).then(|| key(n + 1));
            locked.extend((0..count).map(|n| (key(n), value(n))));
            for n in 0..count {
                assert_eq!(locked.get(&key(n)), Some(value(n).as_deref()));
            }
            assert_eq!(locked.get(&key(count)), None);
            locked.clear();
            assert_eq!(locked.get(&key(0)), None);
        }
    }
}
