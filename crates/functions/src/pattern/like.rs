//! `LIKE`: a pattern, compiled for one collation. Matching backtracks only to the last `%`.

use types::Collation;

use super::segments::Segments;
use super::token::{Token, tokens};
use crate::pace::{Pace, Steps, Unwatched, is_short};

/// What the comparison of two characters takes.
const STEPS_OF_CHARACTER: usize = 16;
/// What takes more steps is watched.
const STEPS_OF_MANY: usize = 1 << 24;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(crate) struct Like {
    collation: Collation,
    tokens: Vec<Token>,
    kind: PatternKind,
    /// For ASCII text, if the pattern is ASCII and the collation compares ASCII byte by byte.
    ascii: Option<Segments>,
}

/// Kinds of patterns. Under collations that compare bytes, some need no matching character by character.
#[derive(Debug, Clone, PartialEq)]
enum PatternKind {
    Equals(String),
    StartsWith(String),
    EndsWith(String),
    Contains(String),
    General,
}

impl Like {
    /// After `escape`, a character is an ordinary one. `None`: no escape character.
    pub fn new(pattern: &str, escape: impl Into<Option<char>>, collation: Collation) -> Self {
        let tokens = tokens(pattern, escape.into());
        let kind = if collation.is_bytewise() {
            kind(&tokens)
        } else {
            PatternKind::General
        };
        let folds = collation.folds_ascii();
        let ascii = if kind == PatternKind::General && (folds || collation.is_bytewise()) {
            Segments::new(&tokens, folds)
        } else {
            None
        };
        Self {
            collation,
            tokens,
            kind,
            ascii,
        }
    }

    /// # Errors
    /// 1317 if the statement is interrupted meanwhile.
    pub fn matches(&self, text: &str, pace: &mut Pace<'_>) -> types::Result<bool> {
        if is_short(text.len(), self.tokens.len()) {
            pace.step(text.len())?;
            return Ok(self.matches_at_once(text));
        }
        self.search(text, pace)
    }

    /// As [`Self::matches`], without an end before it is known.
    pub fn matches_at_once(&self, text: &str) -> bool {
        let Ok(matches) = self.search(text, &mut Unwatched);
        matches
    }

    /// Whether texts of so many bytes in total are soon compared with the pattern.
    pub fn is_soon_done(&self, bytes: usize) -> bool {
        bytes.saturating_mul(self.tokens.len()) <= STEPS_OF_MANY
    }

    #[inline]
    fn search<S: Steps>(&self, text: &str, steps: &mut S) -> Result<bool, S::Stop> {
        Ok(match &self.kind {
            PatternKind::Equals(whole) => text == whole,
            PatternKind::StartsWith(prefix) => text.starts_with(prefix.as_str()),
            PatternKind::EndsWith(suffix) => text.ends_with(suffix.as_str()),
            PatternKind::Contains(part) => text.contains(part.as_str()),
            PatternKind::General => match &self.ascii {
                Some(segments) if text.is_ascii() => return segments.matches(text.as_bytes(), steps),
                _ => return self.walk(text, steps),
            },
        })
    }

    /// Whether the bytes of a text may match. Only ASCII bytes can be excluded.
    pub fn may_match(&self, bytes: &[u8]) -> bool {
        // What takes long is left to `matches`, which can be interrupted.
        if !self.is_soon_done(bytes.len()) || !bytes.is_ascii() {
            return true;
        }
        match (&self.kind, &self.ascii) {
            (PatternKind::General, Some(segments)) => {
                let Ok(matches) = segments.matches(bytes, &mut Unwatched);
                matches
            }
            _ => std::str::from_utf8(bytes).map_or(true, |text| self.matches_at_once(text)),
        }
    }

    fn walk<S: Steps>(&self, text: &str, steps: &mut S) -> Result<bool, S::Stop> {
        let mut rest = text.chars();
        let mut token = 0;
        // The token after the last `%`, and the text that this `%` does not cover yet.
        let mut back: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            steps.step(STEPS_OF_CHARACTER)?;
            match self.tokens.get(token) {
                Some(Token::Many) => {
                    token += 1;
                    if token == self.tokens.len() {
                        return Ok(true);
                    }
                    back = Some((token, rest.clone()));
                    continue;
                }
                Some(Token::One) => {
                    if rest.next().is_some() {
                        token += 1;
                        continue;
                    }
                    return Ok(false);
                }
                Some(Token::Char(wanted)) => {
                    let mut ahead = rest.clone();
                    match ahead.next() {
                        None => return Ok(false),
                        Some(c) if self.same(c, *wanted) => {
                            rest = ahead;
                            token += 1;
                            continue;
                        }
                        Some(_) => {}
                    }
                }
                None if rest.as_str().is_empty() => return Ok(true),
                None => {}
            }
            // On a mismatch the last `%` covers one more character.
            let Some((after, mut from)) = back.take() else {
                return Ok(false);
            };
            if from.next().is_none() {
                return Ok(false);
            }
            token = after;
            rest = from.clone();
            back = Some((after, from));
        }
    }

    fn same(&self, a: char, b: char) -> bool {
        if a == b {
            return true;
        }
        if self.collation.is_bytewise() {
            return false;
        }
        if a.is_ascii() && b.is_ascii() && self.collation.folds_ascii() {
            return a.eq_ignore_ascii_case(&b);
        }
        let (mut x, mut y) = ([0; 4], [0; 4]);
        self.collation
            .equal(a.encode_utf8(&mut x).as_bytes(), b.encode_utf8(&mut y).as_bytes())
    }
}

fn kind(tokens: &[Token]) -> PatternKind {
    let text = |tokens: &[Token]| {
        let chars: Option<String> = tokens
            .iter()
            .map(|t| if let Token::Char(c) = t { Some(*c) } else { None })
            .collect();
        chars
    };
    let found = match tokens {
        [Token::Many, inner @ .., Token::Many] => text(inner).map(PatternKind::Contains),
        [Token::Many, suffix @ ..] => text(suffix).map(PatternKind::EndsWith),
        [prefix @ .., Token::Many] => text(prefix).map(PatternKind::StartsWith),
        all => text(all).map(PatternKind::Equals),
    };
    found.unwrap_or(PatternKind::General)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EvalContext;

    fn matches(like: &Like, text: &str) -> bool {
        let matches = like.matches_at_once(text);
        let context = EvalContext::default();
        assert_eq!(like.search(text, &mut Pace::of(&context)).unwrap(), matches);
        matches
    }

    fn like(text: &str, pattern: &str, collation: Collation) -> bool {
        matches(&Like::new(pattern, '\\', collation), text)
    }

    #[test]
    fn wildcards() {
        for (text, pattern, expected) in [
            ("abc", "a_c", true),
            ("abc", "%", true),
            ("", "", true),
            ("", "%", true),
            ("", "_", false),
            ("a%", "a\\%", true),
            ("ab", "a\\%", false),
            ("a\\b", "a\\\\b", true),
            ("a ", "a", false),
            ("aXb", "a_b%_", false),
            ("aab", "%ab", true),
            ("abab", "a%b%b", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipx%", false),
            ("😀x", "_x", true),
            ("a\nb", "a_b", true),
        ] {
            for collation in [Collation::Utf8mb4Bin, Collation::DEFAULT] {
                assert_eq!(
                    like(text, pattern, collation),
                    expected,
                    "{text} like {pattern} {collation:?}"
                );
            }
        }
    }

    /// Short texts and patterns of a few different characters, so that many match.
    #[test]
    fn ascii_text_matches_as_any_text_does() {
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut matching = 0;
        for _ in 0..200_000 {
            let length = next(8);
            let text: String = (0..length)
                .map(|_| ["a", "A", "b", "@", "`", "_"][next(6)])
                .collect();
            let length = next(7);
            let pattern: String = (0..length)
                .map(|_| ["a", "B", "%", "%", "_", "@", "`"][next(7)])
                .collect();
            for collation in [Collation::DEFAULT, Collation::Utf8mb4Bin] {
                let like = Like::new(&pattern, '\\', collation);
                let found = like.matches_at_once(&text);
                let Ok(walked) = like.walk(&text, &mut Unwatched);
                assert_eq!(found, walked, "{text} like {pattern} {collation:?}");
                assert_eq!(found, like.may_match(text.as_bytes()));
                matching += u32::from(found);
            }
        }
        assert!(matching > 20_000, "{matching}");
    }

    #[test]
    fn collations() {
        assert!(like("a", "A", Collation::DEFAULT));
        assert!(!like("a", "A", Collation::Utf8mb4Bin));
        assert!(like("é", "e", Collation::DEFAULT));
        assert!(like("Straße", "stra_e", Collation::DEFAULT));
        assert!(!like("ß", "s", Collation::DEFAULT));
        assert!(matches(&Like::new("a|%", '|', Collation::DEFAULT), "a%"));
        assert!(!matches(&Like::new("a\\%", None, Collation::DEFAULT), "a%"));
        assert!(Like::new("e", '\\', Collation::DEFAULT).may_match("é".as_bytes()));
    }
}
