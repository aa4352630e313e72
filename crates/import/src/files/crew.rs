//! The connections that write: each takes parts of files and runs each in a transaction of its own.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::Scope;

use super::part::{Part, Tally};
use super::writer::Writer;
use crate::Result;
use crate::endpoint::Endpoint;
use crate::error::Error;

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

    /// Hands over a part. `false`: a connection has failed, so reading can stop.
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

/// Takes parts until there are no more. After a failure of any connection, parts are taken and discarded, so
/// that the reader does not wait.
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
