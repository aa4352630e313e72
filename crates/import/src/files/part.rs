//! Parts of files, which connections load, and the progress of all connections.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::records::Format;
use crate::retry::Turns;

/// A statement, and where it is.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) text: Vec<u8>,
    /// The line of its first row. If it was made of several statements, also the first rows of the others, by
    /// position, and their lines.
    pub(super) lines: Vec<(usize, u64)>,
}

impl Sql {
    pub(super) fn new(line: u64, text: Vec<u8>) -> Self {
        Self {
            text,
            lines: vec![(0, line)],
        }
    }

    /// The line of the statement that a row comes from.
    pub(super) fn line_of(&self, row: usize) -> u64 {
        let found = self.lines.iter().rev().find(|(first, _)| *first <= row);
        found.map_or(0, |(_, line)| *line)
    }
}

/// The statements of a file that set up the session for the rows after them. It only grows.
#[derive(Debug, Default)]
pub(super) struct Settings(Mutex<Vec<Arc<[u8]>>>);

impl Settings {
    pub(super) fn add(&self, sql: &[u8]) {
        if let Ok(mut all) = self.0.lock() {
            all.push(Arc::from(sql));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().map_or(0, |all| all.len())
    }

    pub(super) fn some(&self, from: usize, to: usize) -> Vec<Arc<[u8]>> {
        let all = self
            .0
            .lock()
            .map(|all| all.get(from..to).unwrap_or_default().to_vec());
        all.unwrap_or_default()
    }
}

/// The contents of a part.
#[derive(Debug)]
pub(super) enum Content {
    Inserts(Vec<Sql>),
    /// Records, and the statement that reads them. The first has this number.
    Records {
        load: Arc<str>,
        format: Arc<Format>,
        first: u64,
        bytes: Vec<u8>,
    },
}

/// A part of a file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: Arc<str>,
    pub(super) begins_at: u64,
    pub(super) ends_at: u64,
    pub(super) checksum: u32,
    pub(super) settings: Arc<Settings>,
    /// How many of the settings come before it in the file.
    pub(super) settings_count: usize,
    pub(super) content: Content,
}

/// The progress of all connections, and their errors.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) warnings: AtomicU64,
    /// The first of them.
    pub(super) shown_warnings: Mutex<Vec<String>>,
    pub(super) running: Mutex<usize>,
    pub(super) is_idle: Condvar,
    pub(super) has_failed: AtomicBool,
    pub(super) turns: Turns,
}

impl Tally {
    /// How many warnings are shown.
    const SHOWN: usize = 10;

    pub(super) fn warn(&self, line: String) {
        self.warnings.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut shown) = self.shown_warnings.lock()
            && shown.len() < Self::SHOWN
        {
            shown.push(line);
        }
    }

    pub(super) fn begin(&self) {
        if let Ok(mut running) = self.running.lock() {
            *running += 1;
        }
    }

    pub(super) fn end(&self) {
        if let Ok(mut running) = self.running.lock() {
            *running -= 1;
            self.is_idle.notify_all();
        }
    }
}
