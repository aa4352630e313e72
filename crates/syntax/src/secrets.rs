//! Statements as logs and other accounts may see them: without passwords (manual 6.1.2.3, "Passwords and Logging").

use std::borrow::Cow;

use types::SqlMode;

use crate::lexer::Lexer;
use crate::lexer::token::{Kind, Token};

/// Without one of these words, in any case of letters, a text has no secrets.
const SIGNS: [&str; 3] = ["identified", "password", "prepare"];

/// The text with `<secret>` in place of passwords and of what is stored for them: behind IDENTIFIED [WITH plugin] BY or AS, behind
/// REPLACE, and in SET PASSWORD, CHANGE and START REPLICA. The text that PREPARE reads is left out. A text that ends within a
/// password is cut there.
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !SIGNS.iter().any(|sign| contains(text, sign)) {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::new(text, 0, &SqlMode::default());
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    let mut place = Place::default();
    loop {
        let token = lexer.next_token();
        let word = text.get(token.start..token.end).unwrap_or_default();
        if token.kind == Kind::End {
            break;
        }
        if let Some(shown) = place.shown_instead(&token) {
            out.push_str(&text[copied..token.start]);
            out.push_str(shown);
            copied = token.end;
        }
        if token.kind == Kind::Bad {
            break;
        }
        place.go_on(&token, word);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn contains(text: &str, sign: &str) -> bool {
    let windows = text.as_bytes().windows(sign.len());
    windows
        .into_iter()
        .any(|w| w.eq_ignore_ascii_case(sign.as_bytes()))
}

/// Where in a statement the next token is.
#[derive(Default)]
struct Place {
    /// The number of words of the statement so far.
    words: usize,
    first: String,
    previous: String,
    before_previous: String,
    names_password: bool,
}

impl Place {
    /// What is shown in place of a token that is a secret.
    fn shown_instead(&self, token: &Token) -> Option<&'static str> {
        let is_text = matches!(
            token.kind,
            Kind::Text | Kind::NationalText | Kind::Hex | Kind::Bad
        );
        let is_literal = is_text || token.kind == Kind::QuotedWord && self.previous == "BY";
        if !is_literal {
            return None;
        }
        if self.first == "PREPARE" {
            return (self.previous == "FROM").then_some("...");
        }
        let sets_password = matches!(&self.first[..], "CHANGE" | "START")
            && self.before_previous.ends_with("PASSWORD")
            || self.first == "SET" && self.names_password;
        let is_secret = match &self.previous[..] {
            "BY" | "AS" | "REPLACE" => self.names_password,
            "=" | ":=" | "(" => sets_password,
            _ => false,
        };
        is_secret.then_some("<secret>")
    }

    fn go_on(&mut self, token: &Token, word: &str) {
        if token.kind == Kind::Semicolon {
            *self = Self::default();
            return;
        }
        let word = word.to_ascii_uppercase();
        match self.words {
            0 => self.first.clone_from(&word),
            // SET PASSWORD
            1 if self.first == "SET" => self.names_password = word == "PASSWORD",
            _ => {}
        }
        self.names_password |= token.kind == Kind::Word && word == "IDENTIFIED";
        self.words += 1;
        self.before_previous = std::mem::replace(&mut self.previous, word);
    }
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            (
                "CREATE USER u@'%' IDENTIFIED BY 'a', v IDENTIFIED WITH 'p' BY \"b\" REPLACE 'c' COMMENT 'd'",
                "CREATE USER u@'%' IDENTIFIED BY <secret>, v IDENTIFIED WITH 'p' BY <secret> REPLACE <secret> COMMENT 'd'",
            ),
            (
                "alter user u identified with p as 'hash'; select 'x'",
                "alter user u identified with p as <secret>; select 'x'",
            ),
            (
                "ALTER USER u IDENTIFIED BY 'not en",
                "ALTER USER u IDENTIFIED BY <secret>",
            ),
            (
                "SET PASSWORD FOR u@'h' = 'a' REPLACE 'b'",
                "SET PASSWORD FOR u@'h' = <secret> REPLACE <secret>",
            ),
            ("/* x */ set password='a'", "/* x */ set password=<secret>"),
            (
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = 'a', SOURCE_HOST = 'h'",
                "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = <secret>, SOURCE_HOST = 'h'",
            ),
            ("prepare s from 'SET PASSWORD = \\'a\\''", "prepare s from ..."),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
        for same in [
            "UPDATE users SET password = 'x' WHERE name = 'y'",
            "SELECT 'identified' AS 'password'",
            "SET @a = 'x', sql_mode = ''",
            "SELECT a FROM t ORDER BY 'password'",
        ] {
            assert_eq!(without_secrets(same), same);
        }
    }
}
