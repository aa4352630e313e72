//! What ICU refuses in a pattern and the crates accept, or refuse for another reason.

use types::{Error, Result};

/// The named classes of ICU.
const CLASSES: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// The beginnings of conditions and of code, which ICU does not have.
const UNIMPLEMENTED: &[&str] = &["(?(", "(?{"];

/// How a comment begins. It ends with the next closing parenthesis.
pub(super) const COMMENT: &str = "(?#";

/// The length of a comment that has an end.
pub(super) fn comment(rest: &str) -> Option<usize> {
    rest.strip_prefix(COMMENT)?;
    Some(rest.find(')')? + 1)
}

/// The name in `[:name:]`, and what follows. Only what can be a name is read, so that a pattern with many brackets is
/// read in linear time.
pub(super) fn class_name(rest: &str) -> Option<(&str, &str)> {
    let inner = rest.strip_prefix("[:")?;
    let is_of_name = |b: u8| b.is_ascii_alphanumeric() || b"_^<>".contains(&b);
    let end = inner.bytes().position(|b| !is_of_name(b))?;
    let (name, behind) = inner.split_at(end);
    Some((name, behind.strip_prefix(":]")?))
}

/// Checks a pattern.
///
/// # Errors
/// 3685 for an unknown named class, 3688 for a repetition of a repetition and other signs in wrong places, 3690 for a
/// condition or code, 3691 for a comment without an end, 3692 and 4007 for an interval that is none, 3695 for a look-behind without a longest match.
pub(super) fn check(pattern: &str) -> Result<()> {
    // Between \Q and \E nothing has a meaning.
    if pattern.contains(r"\Q") {
        return Ok(());
    }
    let mut scan = Scan {
        pattern,
        after: After::Start,
        ..Scan::default()
    };
    let mut at = 0;
    while let Some(c) = pattern.get(at..).and_then(|rest| rest.chars().next()) {
        at += scan.token(at, c)?;
    }
    Ok(())
}

#[derive(Default)]
struct Scan<'p> {
    pattern: &'p str,
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
    /// The begin of a pattern, a group or an alternative.
    Start,
    /// `*`, `+`, `?` or `{n,m}`
    Repetition,
    /// The same, with `?` or `+` behind it.
    ModifiedRepetition,
}

impl Scan<'_> {
    /// Takes the token at a position, and returns its length in bytes.
    fn token(&mut self, at: usize, c: char) -> Result<usize> {
        let rest = self.pattern.get(at..).unwrap_or_default();
        let after = std::mem::take(&mut self.after);
        if c == '\\' {
            return Ok(escape(rest));
        }
        if self.brackets == 0 && rest.starts_with(COMMENT) {
            // What stands before a comment is what stands before the token behind it.
            self.after = after;
            return comment(rest)
                .ok_or_else(|| Error::new(3691, "Mismatched parenthesis in regular expression."));
        }
        if let Some(length) = named_class(rest)? {
            return Ok(length);
        }
        match c {
            '[' => {
                self.brackets += 1;
                // A bracket that closes nothing is a character.
                let first = ["[^]", "[]"].iter().find(|first| rest.starts_with(*first));
                return Ok(first.map_or(1, |first| first.len()));
            }
            ']' => self.brackets = self.brackets.saturating_sub(1),
            _ if self.brackets > 0 => {}
            '(' => return self.group(rest, at),
            ')' => drop(self.groups.pop()),
            '|' => self.after = After::Start,
            '}' => return Err(self.syntax_error(at)),
            '*' | '+' | '?' => {
                self.after = match after {
                    After::Repetition if c != '*' => After::ModifiedRepetition,
                    After::Other => self.repetition(c)?,
                    _ => return Err(self.syntax_error(at)),
                }
            }
            '{' => {
                if after != After::Other {
                    return Err(self.syntax_error(at));
                }
                self.after = After::Repetition;
                return interval(rest);
            }
            _ => {}
        }
        Ok(c.len_utf8())
    }

    fn group(&mut self, rest: &str, at: usize) -> Result<usize> {
        if UNIMPLEMENTED.iter().any(|start| rest.starts_with(start)) {
            return Err(Error::new(
                3690,
                "The regular expression contains a feature that is not implemented in this library version.",
            ));
        }
        if rest.starts_with("(??") || rest.starts_with("(?P") {
            return Err(self.syntax_error(at + 2));
        }
        let is_behind = rest.starts_with("(?<=") || rest.starts_with("(?<!");
        let outer = self.groups.last().copied().unwrap_or(false);
        self.groups.push(is_behind || outer);
        // The question mark of a group is no repetition.
        if rest.starts_with("(?") {
            return Ok(2);
        }
        self.after = After::Start;
        Ok(1)
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

    /// Error 3688 at a position.
    fn syntax_error(&self, at: usize) -> Error {
        let before = self.pattern.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let of_line = before.rsplit('\n').next().unwrap_or_default();
        let character = of_line.chars().count() + 1;
        Error::new(
            3688,
            format!("Syntax error in regular expression on line {line}, character {character}."),
        )
    }
}

/// The length of `\d`, `\p{...}` and others.
fn escape(rest: &str) -> usize {
    let plain = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
    let has_name = rest
        .get(1..)
        .is_some_and(|rest| rest.starts_with(['N', 'P', 'U', 'p', 'u', 'x']));
    let name = rest.get(plain..).filter(|rest| has_name && rest.starts_with('{'));
    match name.and_then(|name| name.find('}')) {
        Some(end) => plain + end + 1,
        None => plain,
    }
}

/// The length of `{n}`, `{n,}` or `{n,m}`.
fn interval(rest: &str) -> Result<usize> {
    let wrong = || Error::new(3692, "Incorrect description of a {min,max} interval.");
    let (inner, _) = rest
        .strip_prefix('{')
        .and_then(|inner| inner.split_once('}'))
        .ok_or_else(wrong)?;
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if least.is_empty() || !is_number(least) || !is_number(most) {
        return Err(wrong());
    }
    let is_too_large = |digits: &str| !digits.is_empty() && digits.parse::<i32>().is_err();
    if is_too_large(least) || is_too_large(most) {
        return Err(Error::new(
            4007,
            "Decimal number in regular expression is too large.",
        ));
    }
    Ok(inner.len() + 2)
}

/// The length of `[:name:]`.
fn named_class(rest: &str) -> Result<Option<usize>> {
    let Some((name, _)) = class_name(rest) else {
        return Ok(None);
    };
    let plain = name.strip_prefix('^').unwrap_or(name);
    let is_name = plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain.is_empty() || !is_name && !matches!(plain, "<" | ">") {
        return Ok(None);
    }
    if CLASSES.contains(&loose(plain).as_str()) {
        return Ok(Some(name.len() + 4));
    }
    Err(Error::new(3685, "Illegal argument to a regular expression."))
}

/// The name of a class as ICU compares it.
pub(super) fn loose(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
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
            ("[[:<:]]a", "3685"),
            (" \n  **", "3688 character 4."),
            ("(a(??{1}))", "3688 character 5."),
            ("(?P<n>a)", "3688 character 3."),
            (r"\p{L}+\x{41}{2}[\P{Lu}]\d{2}", ""),
            ("{3}", "3688 character 1."),
            ("a|{3}", "3688 character 3."),
            ("(*a)", "3688 character 2."),
            ("^*[]{}]+[^]{}]", ""),
            ("a{", "3692"),
            ("a{,3}", "3692"),
            ("a{1,2,3}", "3692"),
            ("a{ 3 }", "3692"),
            ("a{99999999999}", "4007"),
            ("a{2}{3}", "3688 character 5."),
            ("a}", "3688 character 2."),
            ("a[{}]{2}b{1,}c{0,3}?", ""),
            ("(?#|*{)a(?#[)+[(?#]", ""),
            ("(?#|*)*a", "3688 character 7."),
            ("a*(?#)*b", "3688 character 7."),
            ("(?#** a", "3691"),
            ("[[:Al_Pha:]]", ""),
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
