//! The session's settings for the text of SHOW CREATE, and the quotes around names.

use std::borrow::Cow;

use functions::TimeZone;

use crate::model::Table;

/// The session's settings for the text.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Around names: a backtick, or under ANSI_QUOTES a double quote.
    pub quote: char,
    /// `@@sql_quote_show_create`: all names are in quotes, not only those that need them.
    pub quotes_all: bool,
    /// sql_mode ANSI: clauses that only MySQL has are left out, except those of columns.
    pub ansi: bool,
    /// `@@show_create_table_verbosity`: the row format is shown even if the statement named none.
    pub row_format: bool,
    /// For the defaults of TIMESTAMP columns.
    pub time_zone: TimeZone,
    /// Whether a name is a keyword, reserved or not.
    pub is_keyword: fn(&str) -> bool,
}

impl Style {
    /// Names in backticks, times in UTC.
    pub const PLAIN: Self = Self {
        quote: '`',
        quotes_all: true,
        ansi: false,
        row_format: false,
        time_zone: TimeZone::UTC,
        is_keyword: |_| false,
    };

    pub(crate) fn identifier(&self, name: &str) -> String {
        match self.quotes_all || self.needs_quotes(name) {
            true => self.quoted_name(name),
            false => name.to_owned(),
        }
    }

    /// A name of a partition: MySQL never quotes it without need.
    pub(crate) fn partition_name(&self, name: &str) -> String {
        Self {
            quotes_all: false,
            ..*self
        }
        .identifier(name)
    }

    /// The style of expressions that belong to a column or a key: MySQL prints them without ANSI_QUOTES.
    pub(crate) fn of_expressions(self) -> Self {
        Self { quote: '`', ..self }
    }

    fn quoted_name(&self, name: &str) -> String {
        let quote = self.quote;
        let doubled = name.replace(quote, &format!("{quote}{quote}"));
        format!("{quote}{doubled}{quote}")
    }

    fn needs_quotes(&self, name: &str) -> bool {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'$';
        !name.bytes().all(is_plain)
            || name.starts_with('$')
            || name.bytes().all(|b| b.is_ascii_digit())
            || (self.is_keyword)(name)
    }

    /// A text in which all names are in backticks, such as the stored text of an expression, with names in
    /// this style. String literals stay as they are.
    pub fn requoted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.quote == '`' && self.quotes_all {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.with_names(text, |name| name))
    }

    /// The same for an expression over a table's columns, which have the spelling of the table and not the one that was
    /// written.
    pub(crate) fn requoted_for(&self, text: &str, table: &Table) -> String {
        self.with_names(text, |name| match table.column_offset(&name) {
            Some(at) => table.columns[at].name.clone(),
            None => name,
        })
    }

    fn with_names(&self, text: &str, spelled: impl Fn(String) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['`', '\'']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (length, name) = match from.starts_with('`') {
                true => name_at(from),
                false => (literal_length(from), None),
            };
            match name {
                Some(name) => out.push_str(&self.identifier(&spelled(name))),
                None => out.push_str(&from[..length]),
            }
            rest = &from[length..];
        }
        out.push_str(rest);
        out
    }
}

/// The bytes of the name in backticks at the start, and the name; no name if the last backtick is missing.
fn name_at(text: &str) -> (usize, Option<String>) {
    let mut at = 1;
    while let Some(found) = text[at..].find('`') {
        at += found + 1;
        if !text[at..].starts_with('`') {
            return (at, Some(text[1..at - 1].replace("``", "`")));
        }
        at += 1;
    }
    (text.len(), None)
}

/// The bytes of the string literal at the start. Stored texts are written without NO_BACKSLASH_ESCAPES. Two
/// quotes inside end one literal and start another, which comes to the same.
fn literal_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSI: Style = Style {
        quote: '"',
        ..Style::PLAIN
    };

    const SPARING: Style = Style {
        quotes_all: false,
        is_keyword: |name| name == "select",
        ..Style::PLAIN
    };

    #[test]
    fn names_in_backticks_get_the_other_quote() {
        let text = r#"(`a` + concat('it\'s `x`','''`','\\',`b``c`,`d""`))"#;
        let expected = r#"("a" + concat('it\'s `x`','''`','\\',"b`c","d"""""))"#;
        assert_eq!(ANSI.requoted(text), expected);
        assert_eq!(Style::PLAIN.requoted(text), text);
    }

    #[test]
    fn only_names_that_need_quotes_have_them() {
        let text = "`a`.`b c` + `1` + `select` + `a1` + ``";
        assert_eq!(SPARING.requoted(text), "a.`b c` + `1` + `select` + a1 + ``");
        let text = "`pä` + `$a` + `a$` + `1a` + `_`";
        assert_eq!(SPARING.requoted(text), "`pä` + `$a` + a$ + 1a + _");
    }

    #[test]
    fn damaged_texts_stay() {
        for text in ["`a", "'a", "'a\\", "`", "'"] {
            assert_eq!(ANSI.requoted(text), text);
        }
    }
}
