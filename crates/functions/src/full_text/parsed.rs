//! Queries of MATCH that a statement has parsed: they are the same for all rows.

use std::sync::{Arc, Mutex};

use types::{Collation, Result};

use super::query::{Mode, Query};

/// The latest queries of one statement. It rarely has more than one.
#[derive(Debug, Default)]
pub(crate) struct ParsedQueries(Mutex<Vec<Parsed>>);

#[derive(Debug)]
struct Parsed {
    text: String,
    mode: Mode,
    collation: Collation,
    query: Arc<Query>,
}

/// How many queries are cached: AGAINST may have another text for each row of an outer query.
const CACHE_LIMIT: usize = 16;

impl ParsedQueries {
    pub fn clear(&mut self) {
        self.0.get_mut().unwrap_or_else(|e| e.into_inner()).clear();
    }

    /// [`Query::parse`], once.
    pub fn parse(&self, text: &str, mode: Mode, collation: Collation) -> Result<Arc<Query>> {
        let mut cache = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let is_it =
            |parsed: &&Parsed| parsed.mode == mode && parsed.collation == collation && parsed.text == text;
        if let Some(found) = cache.iter().find(is_it) {
            return Ok(Arc::clone(&found.query));
        }
        let query = Arc::new(Query::parse(text, mode, collation)?);
        if cache.len() >= CACHE_LIMIT {
            cache.clear();
        }
        cache.push(Parsed {
            text: text.to_owned(),
            mode,
            collation,
            query: Arc::clone(&query),
        });
        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parser;
    use super::*;

    #[test]
    fn a_query_is_parsed_once() {
        let mode = Mode {
            boolean: true,
            parser: Parser::BuiltIn,
        };
        let cache = ParsedQueries::default();
        let parse = |text: &str| cache.parse(text, mode, Collation::DEFAULT).unwrap();
        let first = parse("+one two");
        assert!(Arc::ptr_eq(&first, &parse("+one two")));
        for number in 0..100 {
            parse(&format!("word{number}"));
        }
        assert_eq!(*first, *parse("+one two"));
        assert!(cache.parse("+", mode, Collation::DEFAULT).is_err());
    }
}
