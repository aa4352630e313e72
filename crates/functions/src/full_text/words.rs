//! The words of a text, as InnoDB's two parsers find them.
//!
//! Source: manual 12.9 "Full-Text Search Functions", 12.9.4 "Full-Text Stopwords", 12.9.8 "ngram Full-Text
//! Parser"; answers of MySQL 8.0.33.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use types::Collation;
use types::collation::character_count;

use super::sort_keys::sort_key;

/// `innodb_ft_min_token_size`, in characters.
pub(super) const CHARS_MIN: usize = 3;
/// `innodb_ft_max_token_size`.
pub const CHARS_MAX: usize = 84;
/// `ngram_token_size`.
pub(super) const NGRAM_CHARS: usize = 2;

/// `information_schema.INNODB_FT_DEFAULT_STOPWORD`.
pub const STOPWORDS: &[&str] = &[
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in",
    "is", "it", "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who",
    "will", "with", "und", "the", "www",
];
const STOPWORD_CHARS_MAX: usize = 5;

/// What makes words of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parser {
    /// Words are runs of letters, digits and `_`.
    BuiltIn,
    /// `WITH PARSER ngram`: all pairs of characters, for languages that do not separate words.
    Ngram,
}

/// A text as words are searched in it: in small letters, unless the collation compares bytes.
pub(super) fn folded(text: &str, collation: Collation) -> String {
    match collation.is_bytewise() {
        true => text.to_owned(),
        false => text.to_lowercase(),
    }
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The runs of word characters, of any length.
pub(super) fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !is_of_word(character))
        .filter(|run| !run.is_empty())
}

/// The pairs of characters. Only characters of one byte separate.
pub(super) fn ngrams(text: &str) -> impl Iterator<Item = &str> {
    let separates = |character: char| character.is_ascii() && !is_of_word(character);
    text.split(separates).flat_map(|run| {
        let starts = run.char_indices().map(|(at, _)| at);
        let ends = run.char_indices().map(|(at, _)| at).skip(NGRAM_CHARS);
        starts
            .zip(ends.chain([run.len()]))
            .filter_map(move |(start, end)| {
                let ngram = run.get(start..end)?;
                (character_count(ngram) == NGRAM_CHARS).then_some(ngram)
            })
    })
}

/// The parts of a text that are compared with words and with phrases, indexed or not.
pub(super) fn parts(parser: Parser, text: &str) -> Vec<&str> {
    match parser {
        Parser::BuiltIn => runs(text).collect(),
        Parser::Ngram => ngrams(text).collect(),
    }
}

/// Which parts of texts an index has.
pub(super) struct Indexed {
    parser: Parser,
    collation: Collation,
    /// By sort key.
    stopwords: Arc<HashSet<Vec<u8>>>,
}

impl Indexed {
    pub fn new(parser: Parser, collation: Collation) -> Self {
        Self {
            parser,
            collation,
            stopwords: stopword_keys(collation),
        }
    }

    pub fn has(&self, part: &str) -> bool {
        match self.parser {
            Parser::BuiltIn => {
                let chars = character_count(part);
                let is_short = chars <= STOPWORD_CHARS_MAX;
                (CHARS_MIN..=CHARS_MAX).contains(&chars) && !(is_short && self.is_stopword(part))
            }
            // It has no pair with a stopword in it.
            Parser::Ngram => {
                let one = |character: char| self.is_stopword(character.encode_utf8(&mut [0; 4]));
                !self.is_stopword(part) && !part.chars().any(one)
            }
        }
    }

    fn is_stopword(&self, part: &str) -> bool {
        self.stopwords.contains(&sort_key(self.collation, part))
    }
}

/// The sort keys of [`STOPWORDS`], which are made once for each collation: each row that is written asks for them.
fn stopword_keys(collation: Collation) -> Arc<HashSet<Vec<u8>>> {
    static KEYS: RwLock<BTreeMap<u16, Arc<HashSet<Vec<u8>>>>> = RwLock::new(BTreeMap::new());
    let known = KEYS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(keys) = known.get(&collation.id()) {
        return keys.clone();
    }
    drop(known);
    let keys: HashSet<_> = STOPWORDS.iter().map(|word| sort_key(collation, word)).collect();
    let mut all = KEYS.write().unwrap_or_else(PoisonError::into_inner);
    all.entry(collation.id())
        .or_insert_with(|| Arc::new(keys))
        .clone()
}

/// The words of some texts by which an index finds them: each once, in the order of the collation.
pub(super) fn distinct<'t>(
    parser: Parser,
    texts: impl Iterator<Item = &'t str>,
    collation: Collation,
) -> Vec<String> {
    let indexed = Indexed::new(parser, collation);
    let mut words = Vec::new();
    for text in texts {
        let text = folded(text, collation);
        let parts = parts(parser, &text).into_iter();
        words.extend(parts.filter(|part| indexed.has(part)).map(str::to_owned));
    }
    words.sort_by(|a, b| collation.compare(a.as_bytes(), b.as_bytes()));
    words.dedup_by(|a, b| collation.equal(a.as_bytes(), b.as_bytes()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(parser: Parser, text: &str) -> String {
        distinct(parser, std::iter::once(text), Collation::DEFAULT).join(" ")
    }

    #[test]
    fn words_are_runs_of_some_length() {
        assert_eq!(
            words(Parser::BuiltIn, "The foo_bar's 42 x2y, Été ete"),
            "ete foo_bar x2y".replace("ete", "été")
        );
        assert_eq!(words(Parser::BuiltIn, "is it"), "");
        assert_eq!(words(Parser::BuiltIn, &"a".repeat(CHARS_MAX + 1)), "");
        assert_eq!(words(Parser::BuiltIn, &"b".repeat(CHARS_MAX)).len(), CHARS_MAX);
    }

    #[test]
    fn ngrams_overlap_and_do_not_cross_separators() {
        assert_eq!(words(Parser::Ngram, "bcd, x"), "bc cd");
        assert_eq!(ngrams("数据库").collect::<Vec<_>>(), ["数据", "据库"]);
        assert_eq!(ngrams("数 据").count(), 0);
        // A stopword in a pair.
        assert_eq!(words(Parser::Ngram, "abc"), "bc");
    }
}
