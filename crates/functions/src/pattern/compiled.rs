//! A compiled regular expression with ICU's meaning of the end of a text: `$` and `\Z` also match before a
//! final line terminator, which the `regex` crate does not support.

use regex::{Captures, Match, Regex};

#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// The pattern contains `$` or `\Z`.
    asks_for_end: bool,
}

/// A match, and the text in which it was found: the whole text, or the part before the final line terminator.
pub(super) struct Found<'t> {
    pub range: Match<'t>,
    subject: &'t str,
}

impl Pattern {
    pub fn new(regex: Regex, pattern: &str) -> Self {
        Self {
            regex,
            asks_for_end: asks_for_end(pattern),
        }
    }

    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text) || self.shorter(text).is_some_and(|text| self.regex.is_match(text))
    }

    /// The matches from left to right, which do not overlap.
    pub fn find_iter<'p, 't>(&'p self, text: &'t str) -> impl Iterator<Item = Found<'t>> + use<'p, 't> {
        let shorter = self.shorter(text);
        let mut next = Some(0);
        let mut last_end = None;
        std::iter::from_fn(move || {
            loop {
                let at = next?;
                let found = self.first(text, shorter, at)?;
                let end = found.range.end();
                let is_empty = found.range.is_empty();
                next = match is_empty {
                    false => Some(end),
                    // Past the next character.
                    true => text.get(end..)?.chars().next().map(|c| end + c.len_utf8()),
                };
                if is_empty && last_end == Some(end) {
                    continue;
                }
                last_end = Some(end);
                return Some(found);
            }
        })
    }

    /// The groups of a match.
    pub fn captures<'t>(&self, found: &Found<'t>) -> Option<Captures<'t>> {
        self.regex.captures_at(found.subject, found.range.start())
    }

    fn first<'t>(&self, text: &'t str, shorter: Option<&'t str>, at: usize) -> Option<Found<'t>> {
        let within = |subject: &'t str| {
            let range = self.regex.find_at(subject, at)?;
            Some(Found { range, subject })
        };
        let of_all = within(text);
        let of_shorter = shorter.filter(|shorter| at <= shorter.len()).and_then(within);
        match (of_all, of_shorter) {
            (Some(all), Some(shorter)) if shorter.range.start() < all.range.start() => Some(shorter),
            (Some(all), _) => Some(all),
            (None, shorter) => shorter,
        }
    }

    /// The text without its final line terminator, if that makes a difference.
    fn shorter<'t>(&self, text: &'t str) -> Option<&'t str> {
        const TERMINATORS: [&str; 7] = ["\r\n", "\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}"];
        if !self.asks_for_end {
            return None;
        }
        let ends = TERMINATORS.iter().chain(&["\u{2029}"]);
        ends.into_iter().find_map(|end| text.strip_suffix(end))
    }
}

/// Whether a pattern has `$` or `\Z`. (One within brackets is harmless.)
fn asks_for_end(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '$' => return true,
            '\\' if chars.next() == Some('Z') => return true,
            _ => {}
        }
    }
    false
}
