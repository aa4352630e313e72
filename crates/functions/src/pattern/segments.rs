//! `LIKE` on ASCII text, byte by byte: a pattern's parts between its `%` are searched for one after the
//! other.

use memchr::{memchr, memchr2};

use super::token::Token;
use crate::pace::{BETWEEN_LOOKS, Steps, is_short};

/// A pattern of ASCII characters.
#[derive(Debug, Clone)]
pub(super) struct Segments {
    /// Before the first `%`.
    head: Segment,
    /// The parts between two `%`.
    middle: Vec<Segment>,
    /// After the last `%`; `None` if there is no `%`.
    tail: Option<Segment>,
}

/// Adjacent characters and `_`.
#[derive(Debug, Clone, Default)]
struct Segment {
    bytes: Vec<Byte>,
    /// The position of the byte that is rarest in text.
    rarest: Option<usize>,
}

/// A byte of text matches if it is `value` once the bits of `mask` are set in it. `_` has all bits.
#[derive(Debug, Clone, Copy)]
struct Byte {
    value: u8,
    mask: u8,
}

/// The bit that differs between upper and lower case.
const CASE: u8 = 0x20;
const ANY: u8 = 0xFF;

/// Letters by their frequency in English text. All other characters are rarer.
const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybvkxjqz";

impl Segments {
    /// `None` if the pattern has other characters than ASCII. `folds`: the cases of a letter are equal.
    pub fn new(tokens: &[Token], folds: bool) -> Option<Self> {
        let mut segments = Vec::new();
        for part in tokens.split(|token| *token == Token::Many) {
            segments.push(Segment::new(part, folds)?);
        }
        let tail = if segments.len() > 1 { segments.pop() } else { None };
        let mut segments = segments.into_iter();
        Some(Self {
            head: segments.next().unwrap_or_default(),
            middle: segments.collect(),
            tail,
        })
    }

    /// Whether ASCII text matches. Each part is matched at the first position where it occurs: if there is
    /// any match, there is one with the earliest positions.
    pub fn matches<S: Steps>(&self, text: &[u8], steps: &mut S) -> Result<bool, S::Stop> {
        let Some(tail) = &self.tail else {
            return Ok(text.len() == self.head.bytes.len() && self.head.is_at(text, 0));
        };
        if text.len() < self.head.bytes.len() + tail.bytes.len() {
            return Ok(false);
        }
        let end = text.len() - tail.bytes.len();
        if !self.head.is_at(text, 0) || !tail.is_at(text, end) {
            return Ok(false);
        }
        let mut rest = &text[self.head.bytes.len()..end];
        for segment in &self.middle {
            match segment.find(rest, steps)? {
                Some(at) => rest = &rest[at + segment.bytes.len()..],
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl Segment {
    fn new(tokens: &[Token], folds: bool) -> Option<Self> {
        let byte = |token: &Token| match *token {
            Token::Char(c) if !c.is_ascii() => None,
            Token::Char(c) if folds && c.is_ascii_alphabetic() => Some(Byte {
                value: c as u8 | CASE,
                mask: CASE,
            }),
            Token::Char(c) => Some(Byte {
                value: c as u8,
                mask: 0,
            }),
            Token::One | Token::Many => Some(Byte {
                value: ANY,
                mask: ANY,
            }),
        };
        let bytes = tokens.iter().map(byte).collect::<Option<Vec<Byte>>>()?;
        let frequency = |byte: u8| {
            let place = FREQUENT.iter().position(|&f| f == byte.to_ascii_lowercase());
            place.map_or(0, |place| FREQUENT.len() - place)
        };
        let known = bytes.iter().enumerate().filter(|(_, byte)| byte.mask != ANY);
        let rarest = known
            .min_by_key(|(_, byte)| frequency(byte.value))
            .map(|(at, _)| at);
        Some(Self { bytes, rarest })
    }

    /// Whether the text has the segment at a position.
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let Some(text) = text.get(at..at + self.bytes.len()) else {
            return false;
        };
        let mut pairs = text.iter().zip(&self.bytes);
        pairs.all(|(&byte, wanted)| byte | wanted.mask == wanted.value)
    }

    /// The first place where the text has the segment. Each place may take as many steps as the segment has bytes, so
    /// that long texts are searched in parts.
    #[inline]
    fn find<S: Steps>(&self, text: &[u8], steps: &mut S) -> Result<Option<usize>, S::Stop> {
        if !S::STOPS || is_short(text.len(), self.bytes.len()) {
            return Ok(self.find_in(text));
        }
        let segment = self.bytes.len();
        let places = (BETWEEN_LOOKS / segment.max(1)).max(1);
        let mut from = 0;
        while text.len() - from >= segment {
            steps.step(BETWEEN_LOOKS)?;
            let to = text.len().min(from + places + segment - 1);
            if let Some(at) = self.find_in(&text[from..to]) {
                return Ok(Some(from + at));
            }
            from += places;
            if from > text.len() {
                break;
            }
        }
        Ok(None)
    }

    fn find_in(&self, text: &[u8]) -> Option<usize> {
        let last = text.len().checked_sub(self.bytes.len())?;
        let Some((rarest, byte)) = self.rarest.and_then(|at| Some((at, self.bytes.get(at)?))) else {
            return Some(0);
        };
        let mut from = 0;
        while from <= last {
            let window = text.get(from + rarest..=last + rarest)?;
            from += match byte.mask {
                0 => memchr(byte.value, window),
                mask => memchr2(byte.value, byte.value ^ mask, window),
            }?;
            if self.is_at(text, from) {
                return Some(from);
            }
            from += 1;
        }
        None
    }
}
