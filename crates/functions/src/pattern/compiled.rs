//! A compiled regular expression with ICU's meaning of the end of a text: `$` and `\Z` also match before a
//! final line terminator, which the crates do not support.
//!
//! Patterns that linear time allows are matched by the `regex` crate. Those with look-around, back references,
//! atomic groups and possessive quantifiers are matched by `fancy-regex`, which backtracks: a match that takes
//! too many steps fails, as it does in ICU.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use types::{Error, Result};

/// A part of a match takes at most so many steps, some milliseconds of work.
const STEPS_MAX: usize = 1_000_000;
/// How look-around and atomic groups begin.
const GROUPS: [&str; 5] = ["?=", "?!", "?<=", "?<!", "?>"];
/// What a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RegexFlags {
    pub any_case: bool,
    pub multi_line: bool,
    pub dot_matches_newline: bool,
}

#[derive(Debug)]
pub(super) struct Pattern {
    engine: Engine,
    /// The pattern contains `$` or `\Z`.
    asks_for_end: bool,
}

#[derive(Debug)]
enum Engine {
    Linear(Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// Why a pattern is none.
pub(super) enum Refusal {
    /// What the `regex` crate says.
    Linear(regex::Error),
    /// What `fancy-regex` says, which the caller reads as well.
    Backtracking(Box<fancy_regex::Error>),
}

/// A match, and the text in which it was found: the whole text, or the part before the final line terminator.
pub(super) struct Found<'t> {
    pub range: Range<usize>,
    subject: &'t str,
}

impl<'t> Found<'t> {
    pub fn text(&self) -> &'t str {
        self.subject.get(self.range.clone()).unwrap_or_default()
    }
}

impl Engine {
    fn new(pattern: &str, flags: RegexFlags) -> Result<Self, Refusal> {
        if needs_backtracking(pattern) {
            // It reads ranges and repetitions less strictly.
            Regex::new(&without_backtracking(pattern)).map_err(Refusal::Linear)?;
            let mut builder = fancy_regex::RegexBuilder::new(pattern);
            return builder
                .case_insensitive(flags.any_case)
                .multi_line(flags.multi_line)
                .dot_matches_new_line(flags.dot_matches_newline)
                .delegate_size_limit(COMPILED_BYTES_MAX)
                .backtrack_limit(STEPS_MAX)
                .build()
                .map(|regex| Self::Backtracking(Box::new(regex)))
                .map_err(|error| Refusal::Backtracking(Box::new(error)));
        }
        RegexBuilder::new(pattern)
            .case_insensitive(flags.any_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_matches_newline)
            .size_limit(COMPILED_BYTES_MAX)
            .build()
            .map(Self::Linear)
            .map_err(Refusal::Linear)
    }

    fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Self::Linear(regex) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|_| timed_out()),
        }
    }

    fn find_at(&self, text: &str, at: usize) -> Result<Option<Range<usize>>> {
        match self {
            Self::Linear(regex) => Ok(regex.find_at(text, at).map(|found| found.range())),
            Self::Backtracking(regex) => {
                let found = regex.find_from_pos(text, at).map_err(|_| timed_out())?;
                Ok(found.map(|found| found.range()))
            }
        }
    }

    fn captures_at(&self, text: &str, at: usize) -> Result<Vec<Option<Range<usize>>>> {
        match self {
            Self::Linear(regex) => {
                let found = regex.captures_at(text, at);
                let ranges =
                    |all: regex::Captures<'_>| all.iter().map(|group| group.map(|g| g.range())).collect();
                Ok(found.map(ranges).unwrap_or_default())
            }
            Self::Backtracking(regex) => {
                let found = regex.captures_from_pos(text, at).map_err(|_| timed_out())?;
                let Some(all) = found else { return Ok(Vec::new()) };
                Ok((0..all.len())
                    .map(|group| all.get(group).map(|g| g.range()))
                    .collect())
            }
        }
    }

    fn group_names(&self) -> Vec<Option<&str>> {
        match self {
            Self::Linear(regex) => regex.capture_names().collect(),
            Self::Backtracking(regex) => regex.capture_names().collect(),
        }
    }
}

impl Pattern {
    /// `translated`: as the crates read it.
    ///
    /// # Errors
    /// The pattern is none.
    pub fn new(pattern: &str, translated: &str, flags: RegexFlags) -> Result<Self, Refusal> {
        Ok(Self {
            engine: Engine::new(translated, flags)?,
            asks_for_end: asks_for_end(pattern),
        })
    }

    /// # Errors
    /// 3699 for a match that takes too long.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        if self.engine.is_match(text)? {
            return Ok(true);
        }
        self.shorter(text)
            .map_or(Ok(false), |text| self.engine.is_match(text))
    }

    /// The matches from left to right, which do not overlap.
    pub fn find_iter<'p, 't>(
        &'p self,
        text: &'t str,
    ) -> impl Iterator<Item = Result<Found<'t>>> + use<'p, 't> {
        let shorter = self.shorter(text);
        let mut next = Some(0);
        let mut last_end = None;
        std::iter::from_fn(move || {
            loop {
                let at = next?;
                let found = match self.first(text, shorter, at) {
                    Ok(found) => found?,
                    Err(error) => {
                        next = None;
                        return Some(Err(error));
                    }
                };
                let end = found.range.end;
                let is_empty = found.range.is_empty();
                next = match is_empty {
                    false => Some(end),
                    // Past the next character.
                    true => text
                        .get(end..)
                        .and_then(|rest| rest.chars().next())
                        .map(|c| end + c.len_utf8()),
                };
                if is_empty && last_end == Some(end) {
                    continue;
                }
                last_end = Some(end);
                return Some(Ok(found));
            }
        })
    }

    /// The groups of a match; the first is the match itself.
    pub fn groups<'t>(&self, found: &Found<'t>) -> Result<Vec<Option<&'t str>>> {
        let ranges = self.engine.captures_at(found.subject, found.range.start)?;
        let text = |range: Option<Range<usize>>| range.and_then(|range| found.subject.get(range));
        Ok(ranges.into_iter().map(text).collect())
    }

    /// The names of the groups; the first is the match itself.
    pub fn group_names(&self) -> Vec<Option<&str>> {
        self.engine.group_names()
    }

    fn first<'t>(&self, text: &'t str, shorter: Option<&'t str>, at: usize) -> Result<Option<Found<'t>>> {
        let within = |subject: &'t str| -> Result<Option<Found<'t>>> {
            let found = self.engine.find_at(subject, at)?;
            Ok(found.map(|range| Found { range, subject }))
        };
        let of_all = within(text)?;
        let of_shorter = match shorter.filter(|shorter| at <= shorter.len()) {
            Some(shorter) => within(shorter)?,
            None => None,
        };
        Ok(match (of_all, of_shorter) {
            (Some(all), Some(shorter)) if shorter.range.start < all.range.start => Some(shorter),
            (Some(all), _) => Some(all),
            (None, shorter) => shorter,
        })
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

/// Error 3699.
pub(super) fn timed_out() -> Error {
    Error::new(3699, "Timeout exceeded in regular expression match.")
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

/// Whether a pattern has look-around, a back reference, an atomic group or a possessive quantifier.
fn needs_backtracking(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    let mut depth = 0_usize;
    let mut is_quantified = false;
    while let Some(c) = chars.next() {
        let was_quantified = std::mem::take(&mut is_quantified);
        match c {
            '\\' => {
                let refers = matches!(chars.next(), Some('1'..='9' | 'k'));
                if refers && depth == 0 {
                    return true;
                }
            }
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '(' if GROUPS.iter().any(|begin| chars.as_str().starts_with(begin)) => return true,
            '+' if was_quantified => return true,
            '*' | '+' | '?' | '}' => is_quantified = true,
            _ => {}
        }
    }
    false
}

/// A pattern that has what such a pattern has in common with others, to be checked.
fn without_backtracking(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut depth = 0_usize;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let group = GROUPS
            .iter()
            .find_map(|begin| rest.strip_prefix('(')?.strip_prefix(begin));
        if let Some(behind) = group.filter(|_| depth == 0) {
            out.push_str("(?:");
            rest = behind;
            continue;
        }
        if let Some(behind) = reference(rest).filter(|_| depth == 0) {
            out.push_str("(?:)");
            rest = behind;
            continue;
        }
        let length = match c {
            '\\' => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
            c => c.len_utf8(),
        };
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let (taken, behind) = rest.split_at(length);
        out.push_str(taken);
        rest = behind;
    }
    out
}

/// What follows a back reference, where one begins.
fn reference(text: &str) -> Option<&str> {
    let behind = text.strip_prefix('\\')?;
    match behind.strip_prefix("k<") {
        Some(named) => named.split_once('>').map(|(_, behind)| behind),
        None => behind.strip_prefix(|c| matches!(c, '1'..='9')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_linear_time_cannot_match_backtracks() {
        for pattern in [
            "a(?=b)",
            "a(?!b)",
            "(?<=a)b",
            "(?<!a)b",
            "(?>a)",
            r"(a)\1",
            r"(?<x>a)\k<x>",
            "a*+",
            "a++",
            "a?+",
            "a{2}+",
        ] {
            assert!(needs_backtracking(pattern), "{pattern}");
        }
        for pattern in [
            "a+b*", "(?:a)+", "(?i)a", "(?<x>a)", r"\(?=", "[(?=]", r"[\1]", "a*?", r"\\1", "a|+", "[*]+",
            "(a?)+",
        ] {
            assert!(!needs_backtracking(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_match_without_end_fails() {
        let flags = RegexFlags {
            any_case: false,
            multi_line: false,
            dot_matches_newline: false,
        };
        let Ok(pattern) = Pattern::new("", r"(?=a+b)a*b", flags) else {
            panic!("not a pattern");
        };
        assert!(pattern.is_match("aaab").unwrap());
        let Ok(pattern) = Pattern::new("", r"^(?:(a)|(a))*\1$(?=c)", flags) else {
            panic!("not a pattern");
        };
        assert_eq!(pattern.is_match(&"a".repeat(64)).unwrap_err().code, 3699);
    }
}
