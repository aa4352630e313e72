//! KEYWORDS: the words of the language. Drivers ask for them to know what to quote.
//!
//! The list is MySQL's, also where StemDB refuses what a word begins: whoever quotes for MySQL quotes right for StemDB.
//! Which words the parser takes for names: `syntax::keywords`.

use types::Value;

use super::{Row, text};

/// One word a line, `!` before those that are reserved.
const WORDS: &str = include_str!("keywords.txt");

pub(super) fn keywords() -> Vec<Row> {
    WORDS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let reserved = line.strip_prefix('!');
            vec![
                text(reserved.unwrap_or(line)),
                Value::Int(i64::from(reserved.is_some())),
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_whether_they_are_reserved() {
        let rows = keywords();
        assert_eq!(rows.len(), 751);
        assert_eq!(rows[0], [text("ACCESSIBLE"), Value::Int(1)]);
        assert_eq!(rows[1], [text("ACCOUNT"), Value::Int(0)]);
    }
}
