//! KEYWORDS: the words of the language. Drivers ask for them to know what to quote.
//!
//! The list is MySQL's, with the words that StemDB refuses: what is quoted right for MySQL is quoted right for StemDB. It is the
//! parser's own table.

use types::Value;

use super::{Row, text};

pub(super) fn keywords() -> Vec<Row> {
    let mut words: Vec<_> = syntax::keywords::of_mysql().collect();
    words.sort_unstable();
    words
        .into_iter()
        .map(|(word, reserved)| vec![text(word), Value::Int(i64::from(reserved))])
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
