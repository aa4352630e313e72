//! The relevance of a row for a query, as InnoDB computes it.
//!
//! ```text
//! sum over the query's words that the row has:  how often * idf * idf
//! idf = log10(rows / rows with the word)
//! ```
//!
//! Operators of boolean queries add or subtract 1 before the sum. Each number is a FLOAT.

use types::Collation;
use types::collation::{character_count, first_characters};

use super::query::{Operand, Operator, Phrase, Query, QueryWord};
use super::words::{self, Parser};

/// The columns of a row, each by its parts.
struct Document<'t> {
    columns: Vec<Vec<&'t str>>,
    parser: Parser,
    collation: Collation,
}

/// What is found out about a row step by step. `None` in its place: the row does not satisfy the query.
#[derive(Clone)]
struct Found {
    /// From -1 to 1.
    rank: f32,
    /// The numbers of the words that count.
    words: Vec<usize>,
}

/// How many rows there are, and how many have each of the query's words.
pub(super) struct Counts {
    pub rows: u64,
    pub with_word: Vec<u64>,
}

/// The relevance; 0 if the row does not satisfy the query. Without counts, 1 if it does.
pub(super) fn relevance(
    query: &Query,
    parser: Parser,
    collation: Collation,
    texts: &[&str],
    counts: Option<&Counts>,
) -> f32 {
    let texts: Vec<String> = texts.iter().map(|text| words::folded(text, collation)).collect();
    let document = Document {
        columns: texts.iter().map(|text| words::parts(parser, text)).collect(),
        parser,
        collation,
    };
    let frequencies: Vec<u32> = query.words.iter().map(|word| document.frequency(word)).collect();
    let has_first = frequencies.first().is_some_and(|frequency| *frequency > 0);
    let Some(counts) = counts else {
        return match query.is_word {
            true => f32::from(u8::from(has_first)),
            false => f32::from(u8::from(document.found(query, &frequencies).is_some())),
        };
    };
    let squares = |word: usize| {
        let idf = idf(
            counts,
            word,
            query.words.get(word).map_or(1, |word| word.searches),
        );
        let weight = f64::from(frequencies.get(word).copied().unwrap_or(0)) * idf;
        (weight * idf) as f32
    };
    if query.is_word {
        return squares(0);
    }
    let Some(found) = document.found(query, &frequencies) else {
        return 0.0;
    };
    let mut counted = found.words;
    counted.sort_unstable();
    counted
        .iter()
        .fold(found.rank, |rank, word| rank + squares(*word))
}

fn idf(counts: &Counts, word: usize, searches: u64) -> f64 {
    let with_word = counts
        .with_word
        .get(word)
        .copied()
        .unwrap_or(0)
        .saturating_mul(searches);
    match with_word {
        0 => 0.0,
        // A row that has a word is relevant, also if all rows have it.
        all if all == counts.rows => 1.0001_f64.log10(),
        some => (counts.rows as f64 / some as f64).log10(),
    }
}

impl Document<'_> {
    fn found(&self, query: &Query, frequencies: &[u32]) -> Option<Found> {
        let mut search = Search {
            document: self,
            frequencies,
            has_required: false,
        };
        search.after(&query.steps, None)
    }

    fn equal(&self, a: &str, b: &str) -> bool {
        self.collation.equal(a.as_bytes(), b.as_bytes())
    }

    /// How often the row has a word. Of words with a common beginning, only the first counts.
    fn frequency(&self, word: &QueryWord) -> u32 {
        let indexed = |part: &str| words::is_indexed(self.parser, part, self.collation);
        let parts = self.columns.iter().flatten();
        if !word.is_prefix {
            let count = match indexed(&word.text) {
                true => parts.filter(|part| self.equal(part, &word.text)).count(),
                false => 0,
            };
            return u32::try_from(count).unwrap_or(u32::MAX);
        }
        let chars = character_count(&word.text);
        let begins = |part: &&&str| self.equal(first_characters(part, chars), &word.text) && indexed(part);
        let found: Vec<&&str> = parts.filter(begins).collect();
        let order = |a: &&&str, b: &&&str| self.collation.compare(a.as_bytes(), b.as_bytes());
        let Some(first) = found.iter().copied().min_by(order) else {
            return 0;
        };
        let count = found.iter().filter(|part| self.equal(part, first)).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Whether the row has a phrase.
    fn has_phrase(&self, phrase: &Phrase, query_words: &dyn Fn(usize) -> bool) -> bool {
        if phrase.words.is_empty() || !phrase.words.iter().all(|word| query_words(*word)) {
            return false;
        }
        let parts = phrase.parts.as_slice();
        match phrase.distance {
            _ if parts.len() == 1 => true,
            None => self.columns.iter().any(|column| {
                let mut windows = column.windows(parts.len());
                windows.any(|window| window.iter().zip(parts).all(|(a, b)| self.equal(a, b)))
            }),
            Some(distance) => {
                let wanted: Vec<&str> = parts
                    .iter()
                    .map(String::as_str)
                    .filter(|part| words::is_indexed(self.parser, part, self.collation))
                    .collect();
                // Unlike other phrases, the words may be in several columns.
                let all: Vec<&&str> = self.columns.iter().flatten().collect();
                let mut windows = (0..all.len()).map(|at| all.iter().skip(at).take(distance));
                windows.any(|window| {
                    wanted
                        .iter()
                        .all(|part| window.clone().any(|other| self.equal(part, other)))
                })
            }
        }
    }
}

struct Search<'d> {
    document: &'d Document<'d>,
    frequencies: &'d [u32],
    /// A required word was searched before at this level.
    has_required: bool,
}

impl Search<'_> {
    fn after(&mut self, steps: &[(Operator, Operand)], before: Option<Found>) -> Option<Found> {
        steps.iter().fold(before, |found, (operator, operand)| {
            let matched = self.matched(operand);
            let next = self.step(*operator, found, matched.as_ref());
            self.has_required |= *operator == Operator::Required;
            next
        })
    }

    /// What a row that has an operand gets for it.
    fn matched(&mut self, operand: &Operand) -> Option<Found> {
        let has = |word: usize| self.frequencies.get(word).is_some_and(|frequency| *frequency > 0);
        let words = match operand {
            Operand::Word(word) if has(*word) => vec![*word],
            Operand::Word(_) => return None,
            Operand::Phrase(phrase) if self.document.has_phrase(phrase, &has) => phrase.words.clone(),
            Operand::Phrase(_) => return None,
            Operand::Query(steps) => {
                let mut inner = Search {
                    document: self.document,
                    frequencies: self.frequencies,
                    has_required: false,
                };
                return inner.after(steps, None);
            }
        };
        Some(Found { rank: 0.0, words })
    }

    fn step(&self, operator: Operator, before: Option<Found>, matched: Option<&Found>) -> Option<Found> {
        let Some(matched) = matched else {
            return match operator {
                Operator::Required => None,
                _ => before,
            };
        };
        let new = || Found {
            rank: matched.rank,
            words: Vec::new(),
        };
        let mut found = match (operator, before) {
            (Operator::Excluded, _) | (Operator::Negated, None) => return None,
            (Operator::Required, None) if self.has_required => return None,
            (Operator::Required, Some(before)) => Found {
                rank: limited(before.rank + matched.rank),
                ..before
            },
            (_, before) => before.unwrap_or_else(new),
        };
        match operator {
            Operator::Negated | Operator::Less => found.rank = limited(found.rank - 1.0),
            Operator::More => found.rank = limited(found.rank + 1.0),
            _ => {}
        }
        for word in &matched.words {
            if !found.words.contains(word) {
                found.words.push(*word);
            }
        }
        Some(found)
    }
}

fn limited(rank: f32) -> f32 {
    rank.clamp(-1.0, 1.0)
}
