//! The text of an expression as MySQL's lexer echoes it. It names columns without an alias.

use std::borrow::Cow;

use types::SqlMode;

use super::Lexer;
use super::token::Kind;

/// The text with its comments, but without `/*!` and `*/` around what is read of a comment, and without comments
/// for other versions.
pub fn echo<'a>(source: &'a str, mode: &SqlMode) -> Cow<'a, str> {
    if !source.contains("/*") {
        return Cow::Borrowed(source);
    }
    let mut out = String::with_capacity(source.len());
    let mut lexer = Lexer::new(source, 0, mode);
    loop {
        echo_blanks(&mut lexer, &mut out);
        let token = lexer.next_token();
        if matches!(token.kind, Kind::End | Kind::Bad) {
            return Cow::Owned(out);
        }
        out.push_str(&source[token.start..token.end]);
    }
}

fn echo_blanks(lexer: &mut Lexer<'_>, out: &mut String) {
    loop {
        let mut behind = *lexer;
        if !matches!(behind.skip_blank(), Ok(true)) {
            return;
        }
        let blank = &lexer.text[lexer.at..behind.at];
        let is_boundary = lexer.in_version_comment != behind.in_version_comment;
        let is_other_version = blank.starts_with("/*!") && !lexer.in_version_comment;
        if !is_boundary && !is_other_version {
            out.push_str(blank);
        }
        behind.last_was_name = false;
        behind.after_qualifier = false;
        *lexer = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_part_of_a_name_unless_they_depend_on_the_version() {
        let echoed = |text| echo(text, &crate::testing::sql_mode()).into_owned();
        assert_eq!(echoed("a /* c */ + 1"), "a /* c */ + 1");
        assert_eq!(echoed("a -- c\n + /* */ 1"), "a -- c\n + /* */ 1");
        assert_eq!(echoed("a + /*! 1 + */ 2"), "a +  1 +  2");
        assert_eq!(echoed("a /*!99999 /* b */ + 1 */ + '/*! 2'"), "a  + '/*! 2'");
    }
}
