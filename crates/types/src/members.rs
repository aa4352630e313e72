//! The members of an ENUM or SET type, interned.
//!
//! A list of members is made once per process and never freed, so that a type with members is as cheap to
//! copy and compare as any other. Equal lists are shared, so the memory is bounded by the definitions that
//! the process has read.
//!
//! In memory a value is a number. Of an ENUM it is the position of the member, from 1 on; 0 is the empty text
//! of an invalid value. Of a SET it has one bit for each member, the lowest bit for the first.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Collation;

/// The members of an ENUM or SET type.
#[derive(Clone, Copy)]
pub struct Members(&'static List);

struct List {
    texts: Vec<String>,
    /// The position of each text, from 0 on.
    positions: HashMap<String, usize>,
}

static INTERNED: OnceLock<Mutex<HashSet<ByTexts>>> = OnceLock::new();

/// A list in the set of interned lists, hashed and compared by its texts.
struct ByTexts(&'static List);

impl std::borrow::Borrow<[String]> for ByTexts {
    fn borrow(&self) -> &[String] {
        &self.0.texts
    }
}

impl PartialEq for ByTexts {
    fn eq(&self, other: &Self) -> bool {
        self.0.texts == other.0.texts
    }
}

impl Eq for ByTexts {}

impl Hash for ByTexts {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.texts.hash(state);
    }
}

impl Members {
    /// MySQL's limits. Source: manual 11.3.5 "The ENUM Type" and 11.3.6 "The SET Type".
    pub const ENUM_MAX: usize = 65_535;
    pub const SET_MAX: usize = 64;

    pub fn new(texts: Vec<String>) -> Self {
        let interned = INTERNED.get_or_init(Mutex::default);
        let mut interned = interned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = interned.get(texts.as_slice()) {
            return Self(found.0);
        }
        // If members are equal, which only non-strict mode allows, the first one counts.
        let numbered = texts.iter().cloned().enumerate().rev();
        let positions = numbered.map(|(position, text)| (text, position)).collect();
        let list: &'static List = Box::leak(Box::new(List { texts, positions }));
        interned.insert(ByTexts(list));
        Self(list)
    }

    pub fn texts(&self) -> &'static [String] {
        &self.0.texts
    }

    /// The length in characters of the longest text of an ENUM.
    pub fn enum_chars(&self) -> u32 {
        let chars = self.texts().iter().map(|text| text.chars().count());
        chars.max().unwrap_or(0) as u32
    }

    /// The length in characters of the longest text of a SET: all members, with commas between them.
    pub fn set_chars(&self) -> u32 {
        let chars: usize = self.texts().iter().map(|text| text.chars().count()).sum();
        (chars + self.texts().len().saturating_sub(1)) as u32
    }

    /// The largest number of a value of an ENUM.
    pub fn enum_max(&self) -> u64 {
        self.texts().len() as u64
    }

    /// The bits of all members of a SET.
    pub fn set_max(&self) -> u64 {
        match self.texts().len() {
            count @ 0..=63 => (1 << count) - 1,
            _ => u64::MAX,
        }
    }

    /// The text of an ENUM's number: empty for 0 and for a number beyond the last member.
    pub fn enum_text(&self, number: u64) -> &'static str {
        let position = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        position
            .and_then(|position| self.texts().get(position))
            .map_or("", String::as_str)
    }

    /// The members in a SET's number, in the order of the definition.
    pub fn set_texts(&self, bits: u64) -> impl Iterator<Item = &'static str> + use<> {
        let texts = self.texts().iter().take(Self::SET_MAX).enumerate();
        texts
            .filter(move |(position, _)| bits >> position & 1 == 1)
            .map(|(_, text)| text.as_str())
    }

    /// The position, from 0 on, of the member that equals a text under the collation.
    pub fn find(&self, text: &str, collation: Collation) -> Option<usize> {
        let same = |member: &String| collation.compare(member.as_bytes(), text.as_bytes()).is_eq();
        let exact = self.0.positions.get(text).copied();
        exact.or_else(|| self.texts().iter().position(same))
    }

    /// The bits of the members in a text separated by commas, and whether every part of it is a member. Blanks at
    /// the end of a part count, even where the collation ignores them.
    pub fn find_set(&self, text: &str, collation: Collation) -> (u64, bool) {
        if text.is_empty() {
            return (0, true);
        }
        let (mut bits, mut complete) = (0, true);
        for part in text.split(',') {
            let found = match part.ends_with(' ') {
                true => self.0.positions.get(part).copied(),
                false => self.find(part, collation),
            };
            match found {
                Some(position) if position < Self::SET_MAX => bits |= 1 << position,
                _ => complete = false,
            }
        }
        (bits, complete)
    }

    /// Whether different numbers always have different texts under the collation. If a member equals the
    /// empty text, which number 0 has, they do not.
    pub fn texts_differ(&self, collation: Collation) -> bool {
        self.find("", collation).is_none()
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Members {}

impl Hash for Members {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.texts()).finish()
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.texts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> Members {
        Members::new(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn equal_lists_are_one() {
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        assert!(std::ptr::eq(of(&["a", "b"]).0, of(&["a", "b"]).0));
    }

    #[test]
    fn numbers_and_texts() {
        let members = of(&["z", "a", "m"]);
        assert_eq!(
            (members.enum_text(0), members.enum_text(2), members.enum_text(9)),
            ("", "a", "")
        );
        assert_eq!(members.set_texts(5).collect::<Vec<_>>(), ["z", "m"]);
        assert_eq!(members.find("A", Collation::Utf8mb40900AiCi), Some(1));
        assert_eq!(members.find("A", Collation::Utf8mb4Bin), None);
        assert_eq!(members.find_set("m,q,Z", Collation::Utf8mb40900AiCi), (5, false));
        assert_eq!(
            (members.enum_chars(), members.set_chars(), members.set_max()),
            (1, 5, 7)
        );
        assert!(members.texts_differ(Collation::DEFAULT));
        assert!(!of(&["a", ""]).texts_differ(Collation::DEFAULT));
    }
}
