//! The relevance of a row for a query, as InnoDB computes it.
//!
//! ```text
//! sum over the query's words that the row has:  how often * idf * idf
//! idf = log10(rows / rows with the word)
//! ```
//!
//! Operators of boolean queries add or subtract 1 before the sum. Each number is a FLOAT.

use types::Collation;

use super::query::{Operand, Operator, Phrase, Query};
use super::sort_keys::sort_key;
use super::words::{self, Indexed, Parser};

/// What a row has of what a query asks for.
struct Document {
    /// The parts of each column: the number among those that the query names, if it is one of them.
    columns: Vec<Vec<Option<usize>>>,
    /// For each word of the query, how often the row has it. Of words with a common beginning, only the first
    /// counts.
    frequencies: Vec<u32>,
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
    let document = Document::new(query, parser, collation, texts);
    let Some(counts) = counts else {
        return match query.is_word {
            true => f32::from(u8::from(document.has(0))),
            false => f32::from(u8::from(document.found(query).is_some())),
        };
    };
    let squares = |word: usize| {
        let idf = idf(
            counts,
            word,
            query.words.get(word).map_or(1, |word| word.searches),
        );
        let weight = f64::from(document.frequency(word)) * idf;
        (weight * idf) as f32
    };
    if query.is_word {
        return squares(0);
    }
    let Some(found) = document.found(query) else {
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
        // The row that is asked about has it, although it may be older than those that were counted.
        .max(1)
        .saturating_mul(searches);
    match with_word {
        // A row that has a word is relevant, also if all rows have it.
        all if all == counts.rows => 1.0001_f64.log10(),
        some => (counts.rows.max(1) as f64 / some as f64).log10(),
    }
}

impl Document {
    fn new(query: &Query, parser: Parser, collation: Collation, texts: &[&str]) -> Self {
        let keys = &query.keys;
        let mut beginnings = Beginnings::new(query, parser, collation);
        let mut counts = vec![0_u32; keys.count()];
        let mut columns = Vec::with_capacity(texts.len());
        for text in texts {
            let text = words::folded(text, collation);
            let mut column = Vec::new();
            for part in words::parts(parser, &text) {
                let key = sort_key(collation, part);
                let number = keys.part(&key);
                if let Some(count) = number.and_then(|number| counts.get_mut(number)) {
                    *count = count.saturating_add(1);
                }
                column.push(number);
                beginnings.add(part, &key);
            }
            columns.push(column);
        }
        let frequencies = query.words.iter().zip(beginnings.first).map(|(word, first)| {
            let counted = word.part.and_then(|part| counts.get(part).copied());
            counted.or(first.map(|(_, count)| count)).unwrap_or(0)
        });
        Self {
            columns,
            frequencies: frequencies.collect(),
        }
    }

    fn frequency(&self, word: usize) -> u32 {
        self.frequencies.get(word).copied().unwrap_or(0)
    }

    fn has(&self, word: usize) -> bool {
        self.frequency(word) > 0
    }

    fn found(&self, query: &Query) -> Option<Found> {
        let mut search = Search {
            document: self,
            has_required: false,
        };
        search.after(&query.steps, None)
    }

    fn has_phrase(&self, phrase: &Phrase) -> bool {
        if phrase.words.is_empty() || !phrase.words.iter().all(|word| self.has(*word)) {
            return false;
        }
        let parts = phrase.parts.as_slice();
        match phrase.distance {
            _ if parts.len() == 1 => true,
            None => self.columns.iter().any(|column| {
                let mut windows = column.windows(parts.len());
                windows.any(|window| window.iter().zip(parts).all(|(a, b)| *a == Some(*b)))
            }),
            // Unlike other phrases, the words may be in several columns.
            Some(distance) => {
                let all: Vec<Option<usize>> = self.columns.iter().flatten().copied().collect();
                all_within(&all, &phrase.indexed, distance)
            }
        }
    }
}

/// Whether some `distance` parts of a text that follow one another have all the wanted ones, which are sorted.
fn all_within(parts: &[Option<usize>], wanted: &[usize], distance: usize) -> bool {
    let place = |part: Option<&Option<usize>>| wanted.binary_search(part.copied().flatten().as_ref()?).ok();
    let mut counts = vec![0_usize; wanted.len()];
    let mut missing = wanted.len();
    for (at, part) in parts.iter().enumerate() {
        if let Some(count) = place(Some(part)).and_then(|place| counts.get_mut(place)) {
            missing -= usize::from(*count == 0);
            *count += 1;
        }
        let left = at.checked_sub(distance).and_then(|at| place(parts.get(at)));
        if let Some(count) = left.and_then(|place| counts.get_mut(place)) {
            *count -= 1;
            missing += usize::from(*count == 0);
        }
        if missing == 0 {
            return true;
        }
    }
    false
}

/// For each word of a query that is a prefix: the first word of the row that begins with it, in the order of the
/// collation, and how often the row has that one.
struct Beginnings<'q> {
    query: &'q Query,
    collation: Collation,
    /// `None`: the query has no prefixes.
    indexed: Option<Indexed>,
    first: Vec<Option<(Vec<u8>, u32)>>,
}

impl<'q> Beginnings<'q> {
    fn new(query: &'q Query, parser: Parser, collation: Collation) -> Self {
        let has_prefixes = query.words.iter().any(|word| word.is_prefix);
        Self {
            query,
            collation,
            indexed: has_prefixes.then(|| Indexed::new(parser, collation)),
            first: vec![None; query.words.len()],
        }
    }

    fn add(&mut self, part: &str, key: &[u8]) {
        let Some(indexed) = self.indexed.as_ref() else {
            return;
        };
        let mut words = self.query.keys.prefixes_of(self.collation, part).peekable();
        if words.peek().is_none() || !indexed.has(part) {
            return;
        }
        for word in words {
            let Some(first) = self.first.get_mut(word) else {
                continue;
            };
            match first {
                Some((of_first, count)) if of_first == key => *count = count.saturating_add(1),
                Some((of_first, _)) if of_first.as_slice() < key => {}
                _ => *first = Some((key.to_vec(), 1)),
            }
        }
    }
}

struct Search<'d> {
    document: &'d Document,
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
        let words = match operand {
            Operand::Word(word) if self.document.has(*word) => vec![*word],
            Operand::Word(_) => return None,
            Operand::Phrase(phrase) if self.document.has_phrase(phrase) => phrase.words.clone(),
            Operand::Phrase(_) => return None,
            Operand::Query(steps) => {
                let mut inner = Search {
                    document: self.document,
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

#[cfg(test)]
mod tests {
    use super::all_within;

    #[test]
    fn words_are_near_in_any_order() {
        let text = [Some(1), None, Some(2), Some(2), None, Some(0), Some(1)];
        for (wanted, distance, expected) in [
            (&[0, 1][..], 2, true),
            (&[0, 2], 2, false),
            (&[0, 2], 3, true),
            (&[0, 1, 2], 3, false),
            (&[0, 1, 2], 4, true),
            (&[0, 1, 2], usize::MAX, true),
            (&[0, 3], usize::MAX, false),
            (&[2], 1, true),
        ] {
            assert_eq!(
                all_within(&text, wanted, distance),
                expected,
                "{wanted:?} {distance}"
            );
        }
    }
}
