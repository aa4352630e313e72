//! Where a row of literals ends, without tokens: dumps have thousands of them in a statement.

use types::SqlMode;

/// Behind the row `(1, 'a', NULL)` that begins at `at`. `None`: it has one value, or something that is not a plain
/// literal.
pub(super) fn end(text: &[u8], at: usize, mode: &SqlMode) -> Option<usize> {
    let mut at = at;
    let mut values = 0;
    loop {
        // Behind the parenthesis or the comma.
        at = behind_blanks(text, at + 1);
        at = behind_blanks(text, value_end(text, at, mode)?);
        values += 1;
        match text.get(at)? {
            b',' => {}
            b')' if values > 1 => return Some(at + 1),
            _ => return None,
        }
    }
}

fn behind_blanks(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\n'))
        .count()
}

/// Behind a value, if it looks like a literal. Whether a blank, a comma or a parenthesis follows is left to the caller.
fn value_end(text: &[u8], at: usize, mode: &SqlMode) -> Option<usize> {
    let rest = text.get(at..)?;
    match rest.first()? {
        b'\'' => text_end(text, at + 1, mode),
        b'N' => rest.starts_with(b"NULL").then_some(at + 4),
        first => {
            let at = at + usize::from(*first == b'-');
            let rest = text.get(at..)?;
            let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let fraction = match rest.get(length) {
                Some(b'.') => {
                    1 + rest
                        .iter()
                        .skip(length + 1)
                        .take_while(|byte| byte.is_ascii_digit())
                        .count()
                }
                _ => 0,
            };
            (length > 0 && fraction != 1).then_some(at + length + fraction)
        }
    }
}

fn text_end(text: &[u8], mut at: usize, mode: &SqlMode) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'\'' if text.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return Some(at + 1),
            b'\\' if !mode.no_backslash_escapes => at += 2,
            _ => at += 1,
        }
    }
}
