//! The last statements of each session: `events_statements_history`, and `events_statements_current` of a session that
//! runs none.

use std::sync::Arc;
use std::time::Instant;

use types::Error;

use super::event::StatementEvent;

/// `performance_schema_events_statements_history_size`
const RECORDS_MAX: usize = 10;
/// `performance_schema_max_sql_text_length`
const TEXT_BYTES_MAX: usize = 1024;

/// A statement that has ended.
#[derive(Debug, Clone)]
pub struct StatementRecord {
    /// Counts the statements of the session.
    pub number: u64,
    pub event: StatementEvent,
    pub started: Instant,
    pub took_ns: u64,
    pub text: Option<Arc<str>>,
    pub database: Option<Arc<str>>,
    pub error: Option<Box<Error>>,
}

/// A ring of statements. A session that has run none has no memory for it.
#[derive(Debug, Default)]
pub struct History {
    count: u64,
    records: Vec<StatementRecord>,
}

impl History {
    /// Adds a statement, in place of the oldest one.
    pub fn add(&mut self, mut record: StatementRecord) {
        if let Some(text) = record.text.as_mut().filter(|text| text.len() > TEXT_BYTES_MAX) {
            // The whole text would stay in memory for as long as the record does.
            *text = text[..text.floor_char_boundary(TEXT_BYTES_MAX)].into();
        }
        self.count += 1;
        record.number = self.count;
        match self.records.len() < RECORDS_MAX {
            true => self.records.push(record),
            false => self.records[(self.count - 1) as usize % RECORDS_MAX] = record,
        }
    }

    pub fn last_mut(&mut self) -> Option<&mut StatementRecord> {
        self.records.iter_mut().max_by_key(|record| record.number)
    }

    /// The oldest first.
    pub fn records(&self) -> Vec<StatementRecord> {
        let mut records = self.records.clone();
        records.sort_by_key(|record| record.number);
        records
    }

    /// TRUNCATE. The numbers go on.
    pub fn clear(&mut self) {
        self.records.clear();
        // The ring begins at a multiple of its length.
        self.count = self.count.next_multiple_of(RECORDS_MAX as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> StatementRecord {
        StatementRecord {
            number: 0,
            event: StatementEvent::default(),
            started: Instant::now(),
            took_ns: 1,
            text: Some(text.into()),
            database: None,
            error: None,
        }
    }

    fn texts(history: &History) -> Vec<String> {
        let records = history.records();
        records
            .iter()
            .filter_map(|record| record.text.as_deref().map(str::to_owned))
            .collect()
    }

    #[test]
    fn the_last_statements_stay() {
        let mut history = History::default();
        for number in 1..=13 {
            history.add(record(&number.to_string()));
        }
        let expected: Vec<String> = (4..=13).map(|number| number.to_string()).collect();
        assert_eq!(texts(&history), expected);
        assert_eq!(history.last_mut().map(|last| last.number), Some(13));
        history.clear();
        for number in 1..=12 {
            history.add(record(&number.to_string()));
        }
        let expected: Vec<String> = (3..=12).map(|number| number.to_string()).collect();
        assert_eq!(texts(&history), expected);
    }

    #[test]
    fn long_texts_are_cut() {
        let mut history = History::default();
        history.add(record(&"\u{e9}".repeat(600)));
        assert_eq!(texts(&history), ["\u{e9}".repeat(512)]);
    }
}
