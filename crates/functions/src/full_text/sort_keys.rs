//! The sort keys of what a query asks for: each part of a row's texts is looked up once, however many words the
//! query has.

use std::collections::HashMap;

use types::Collation;
use types::collation::first_characters;

/// Parts of texts by sort key, each with a number; and words that are prefixes, with their numbers among the
/// query's words.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Keys {
    parts: HashMap<Vec<u8>, usize>,
    /// By their length in characters.
    prefixes: Vec<(usize, HashMap<Vec<u8>, usize>)>,
}

pub(super) fn sort_key(collation: Collation, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text.as_bytes(), &mut key);
    key
}

impl Keys {
    /// The number of a part, which is added if it is not there.
    pub fn add_part(&mut self, key: Vec<u8>) -> usize {
        let next = self.parts.len();
        *self.parts.entry(key).or_insert(next)
    }

    pub fn add_prefix(&mut self, chars: usize, key: Vec<u8>, word: usize) {
        let at = match self.prefixes.iter().position(|(length, _)| *length == chars) {
            Some(at) => at,
            None => {
                self.prefixes.push((chars, HashMap::new()));
                self.prefixes.len() - 1
            }
        };
        if let Some((_, words)) = self.prefixes.get_mut(at) {
            words.insert(key, word);
        }
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.parts.len()
    }

    pub fn part(&self, key: &[u8]) -> Option<usize> {
        self.parts.get(key).copied()
    }

    /// The words with which a part of a text begins.
    pub fn prefixes_of(&self, collation: Collation, part: &str) -> impl Iterator<Item = usize> {
        self.prefixes.iter().filter_map(move |(chars, words)| {
            let start = first_characters(part, *chars);
            words.get(&sort_key(collation, start)).copied()
        })
    }
}
