//! What ICU refuses in a pattern and the crates accept, or refuse for another reason.

use types::{Error, Result};

/// The named classes of ICU.
const CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
    "word", "xdigit",
];

/// The beginnings of conditions and of code, which ICU does not have.
const UNIMPLEMENTED: &[&str] = &["(?(", "(?{"];

/// Checks a pattern.
///
/// # Errors
/// 3685 for an unknown named class, 3688 for a repetition of a repetition, 3690 for a condition or code, 3695
/// for a look-behind without a longest match.
pub(super) fn check(pattern: &str) -> Result<()> {
    // Between \Q and \E nothing has a meaning.
    if pattern.contains(r"\Q") {
        return Ok(());
    }
    let mut scan = Scan::default();
    let mut rest = pattern;
    let mut position = 0;
    while let Some(c) = rest.chars().next() {
        let taken = scan.token(rest, c, position)?;
        position += rest.get(..taken).map_or(1, |token| token.chars().count());
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(())
}

#[derive(Default)]
struct Scan {
    /// How many brackets are open.
    brackets: usize,
    /// For each open group, whether it is a look-behind or in one.
    groups: Vec<bool>,
    after: After,
}

/// What stands before the position.
#[derive(Default, PartialEq)]
enum After {
    #[default]
    Other,
    /// `*`, `+`, `?` or `{n,m}`
    Repetition,
    /// The same, with `?` or `+` behind it.
    ModifiedRepetition,
}

impl Scan {
    /// Takes the token that `rest` begins with, and returns its length in bytes.
    fn token(&mut self, rest: &str, c: char, position: usize) -> Result<usize> {
        let after = std::mem::take(&mut self.after);
        if c == '\\' {
            return Ok(rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at));
        }
        if let Some(length) = named_class(rest)? {
            return Ok(length);
        }
        match c {
            '[' => self.brackets += 1,
            ']' => self.brackets = self.brackets.saturating_sub(1),
            _ if self.brackets > 0 => {}
            '(' => {
                if UNIMPLEMENTED.iter().any(|start| rest.starts_with(start)) {
                    return Err(Error::new(
                        3690,
                        "The regular expression contains a feature that is not implemented in this library version.",
                    ));
                }
                let is_behind = rest.starts_with("(?<=") || rest.starts_with("(?<!");
                let outer = self.groups.last().copied().unwrap_or(false);
                self.groups.push(is_behind || outer);
                // The question mark of a group is no repetition.
                return Ok(if rest.starts_with("(?") { 2 } else { 1 });
            }
            ')' => drop(self.groups.pop()),
            '*' | '+' | '?' => {
                self.after = match after {
                    After::Repetition if c != '*' => After::ModifiedRepetition,
                    After::Other => self.repetition(c)?,
                    _ => {
                        return Err(Error::new(
                            3688,
                            format!(
                                "Syntax error in regular expression on line 1, character {}.",
                                position + 1
                            ),
                        ));
                    }
                }
            }
            '{' => self.after = After::Repetition,
            _ if after == After::Repetition && (c.is_ascii_digit() || matches!(c, ',' | '}')) => {
                self.after = After::Repetition;
            }
            _ => {}
        }
        Ok(c.len_utf8())
    }

    fn repetition(&self, sign: char) -> Result<After> {
        if sign != '?' && self.groups.last().is_some_and(|is_behind| *is_behind) {
            return Err(Error::new(
                3695,
                "The look-behind assertion exceeds the limit in regular expression.",
            ));
        }
        Ok(After::Repetition)
    }
}

/// The length of `[:name:]`.
fn named_class(rest: &str) -> Result<Option<usize>> {
    let Some((name, _)) = rest.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) else {
        return Ok(None);
    };
    let plain = name.strip_prefix('^').unwrap_or(name);
    if plain.is_empty() || !plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Ok(None);
    }
    if CLASSES.contains(&plain.to_ascii_lowercase().as_str()) {
        return Ok(Some(name.len() + 4));
    }
    Err(Error::new(3685, "Illegal argument to a regular expression."))
}

#[cfg(test)]
mod tests {
    use super::check;

    /// As MySQL 8.0.33 answers.
    #[test]
    fn patterns_are_checked() {
        for (pattern, expected) in [
            ("a**", "3688 character 3."),
            ("   **", "3688 character 5."),
            ("  +++", "3688 character 5."),
            ("a*?*", "3688 character 4."),
            ("a*+b+?c??d{2}?e{2,3}+", ""),
            ("(?:a)?(?i)b*", ""),
            (r"a\**[*+]+", ""),
            ("(?<=x+)y", "3695"),
            ("(?<=(x*))y", "3695"),
            ("(?<=x)y+", ""),
            ("(a)?(?(1)b|c)", "3690"),
            ("a(?{1})b", "3690"),
            ("[[:alpha:][:^digit:]]+", ""),
            ("[a[:xyz:]b]", "3685"),
            (r"\[:xyz:]", ""),
        ] {
            let found = match check(pattern) {
                Ok(()) => String::new(),
                Err(error) if error.code == 3688 => {
                    format!("3688 {}", error.message.rsplit(", ").next().unwrap_or_default())
                }
                Err(error) => error.code.to_string(),
            };
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
