//! The parts of a LIKE pattern.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token {
    Char(char),
    /// `_`
    One,
    /// `%`
    Many,
}

pub(super) fn tokens(pattern: &str, escape: Option<char>) -> Vec<Token> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            // An escape character at the end stands for itself.
            c if Some(c) == escape => Token::Char(chars.next().unwrap_or(c)),
            '%' if out.last() == Some(&Token::Many) => continue,
            '%' => Token::Many,
            '_' => Token::One,
            c => Token::Char(c),
        });
    }
    out
}
