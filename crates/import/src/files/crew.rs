//! The connections that write: each takes parts of files and runs each in a transaction of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::Scope;

use super::writer::Writer;
use crate::Result;
use crate::endpoint::Endpoint;
use crate::error::Error;

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

/// The statements of a file that make a session what the rows behind them need. It only grows.
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

/// What a part holds.
#[derive(Debug)]
pub(super) enum Content {
    Inserts(Vec<Sql>),
    /// LOAD DATA LOCAL of a file in the directory of the dump.
    File(Sql, PathBuf),
    /// Records, and the statement that reads them. The first has this number.
    Records {
        load: Arc<str>,
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
    /// So many of the settings are before it.
    pub(super) settings_count: usize,
    pub(super) content: Content,
}

/// What all have done, and what went wrong.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) rows: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) warnings: AtomicU64,
    /// The first of them.
    pub(super) shown_warnings: Mutex<Vec<String>>,
    running: Mutex<usize>,
    is_idle: Condvar,
    has_failed: AtomicBool,
}

impl Tally {
    /// So many warnings are shown.
    const SHOWN: usize = 10;

    pub(super) fn warn(&self, line: String) {
        self.warnings.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut shown) = self.shown_warnings.lock()
            && shown.len() < Self::SHOWN
        {
            shown.push(line);
        }
    }

    fn begin(&self) {
        if let Ok(mut running) = self.running.lock() {
            *running += 1;
        }
    }

    fn end(&self) {
        if let Ok(mut running) = self.running.lock() {
            *running -= 1;
            self.is_idle.notify_all();
        }
    }
}

/// The connections at work. Parts wait in a queue as long as the crew, so that memory is bounded.
pub(super) struct Crew<'s> {
    parts: SyncSender<Part>,
    tally: &'s Tally,
    threads: Vec<std::thread::ScopedJoinHandle<'s, Result<()>>>,
}

impl<'s> Crew<'s> {
    pub(super) fn start<'e: 's>(
        scope: &'s Scope<'s, 'e>,
        target: &'e Endpoint,
        writer: impl Fn() -> Writer<'e>,
        tally: &'s Tally,
        count: usize,
    ) -> Result<Self> {
        let (parts, queue) = sync_channel(count);
        let queue = Arc::new(Mutex::new(queue));
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut writer = writer();
            writer.connect(target)?;
            let queue = Arc::clone(&queue);
            threads.push(scope.spawn(move || work(&mut writer, &queue, tally)));
        }
        Ok(Self {
            parts,
            tally,
            threads,
        })
    }

    /// Hands a part over. `false`: there is no use in going on.
    pub(super) fn give(&self, part: Part) -> bool {
        if self.tally.has_failed.load(Ordering::Relaxed) {
            return false;
        }
        self.tally.begin();
        let given = self.parts.send(part).is_ok();
        if !given {
            self.tally.end();
        }
        given
    }

    /// Waits until all parts are done. `false`: one has failed.
    pub(super) fn wait(&self) -> bool {
        let Ok(mut running) = self.tally.running.lock() else {
            return false;
        };
        while *running > 0 {
            match self.tally.is_idle.wait(running) {
                Ok(guard) => running = guard,
                Err(_) => return false,
            }
        }
        !self.tally.has_failed.load(Ordering::Relaxed)
    }

    /// Ends it. Returns the first failure.
    pub(super) fn finish(self) -> Result<()> {
        drop(self.parts);
        let results = self.threads.into_iter().map(|thread| thread.join());
        let results: Vec<Result<()>> = results.map(|done| done.unwrap_or(Err(Error::Thread))).collect();
        results.into_iter().collect()
    }
}

/// Takes parts until there are no more. After a failure of any connection they are only taken, so that the
/// reader does not wait.
fn work(writer: &mut Writer<'_>, queue: &Mutex<Receiver<Part>>, tally: &Tally) -> Result<()> {
    let mut result = Ok(());
    loop {
        let part = queue.lock().ok().and_then(|queue| queue.recv().ok());
        let Some(part) = part else { return result };
        if !tally.has_failed.load(Ordering::Relaxed) {
            let done = writer.write(&part);
            if done.is_err() {
                tally.has_failed.store(true, Ordering::Relaxed);
                result = done;
            }
        }
        tally.end();
    }
}
