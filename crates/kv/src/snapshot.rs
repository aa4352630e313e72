//! Reading at one moment.

use crate::coprocessor::{CoprocessorRequest, CoprocessorResponse, CoprocessorResponses};
use crate::engine::{Engine, ReadAt, ScanRequest};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::private::PrivateKeys;
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use crate::timestamp::{LATEST, Timestamp};
use std::fmt;
use std::sync::Arc;

/// What was committed at or before one timestamp. It never changes. Cheap to clone; while one is alive,
/// garbage collection keeps what it sees.
///
/// The exception is [`crate::Store::latest`]: it has no timestamp, and each *call* sees what is newest at
/// that moment.
#[derive(Clone)]
pub struct Snapshot {
    moment: Moment,
    interrupt: Option<Arc<Interrupt>>,
    /// Keys that are read there and not in the engine.
    private: Option<Arc<PrivateKeys>>,
}

/// The engine is part of it: all transactions share the engine's reference count, so a snapshot holds one
/// reference, not two.
#[derive(Clone)]
enum Moment {
    Latest(Arc<dyn Engine>),
    Pinned(Arc<Pin>),
}

/// Holds garbage collection back while it is alive.
struct Pin {
    engine: Arc<dyn Engine>,
    ts: Timestamp,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.engine.unpin(self.ts);
    }
}

impl Snapshot {
    pub(crate) fn at(engine: Arc<dyn Engine>, ts: Timestamp) -> Result<Self> {
        engine.pin(ts)?;
        Ok(Self::pinned(engine, ts))
    }

    /// The interrupt that ends the wait for a timestamp also ends the snapshot's reads.
    pub(crate) fn now(engine: Arc<dyn Engine>, interrupt: Option<Arc<Interrupt>>) -> Result<Self> {
        let ts = engine.pin_now(interrupt.as_deref())?;
        Ok(Self {
            interrupt,
            ..Self::pinned(engine, ts)
        })
    }

    fn pinned(engine: Arc<dyn Engine>, ts: Timestamp) -> Self {
        Self {
            moment: Moment::Pinned(Arc::new(Pin { engine, ts })),
            interrupt: None,
            private: None,
        }
    }

    pub(crate) fn latest(engine: Arc<dyn Engine>) -> Self {
        Self {
            moment: Moment::Latest(engine),
            interrupt: None,
            private: None,
        }
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        match &self.moment {
            Moment::Latest(engine) => engine,
            Moment::Pinned(pin) => &pin.engine,
        }
    }

    /// Its timestamp; [`LATEST`] if it shows the newest state.
    pub fn ts(&self) -> Timestamp {
        match &self.moment {
            Moment::Latest(_) => LATEST,
            Moment::Pinned(pin) => pin.ts,
        }
    }

    pub(crate) fn interrupt(&self) -> Option<&Interrupt> {
        self.interrupt.as_deref()
    }

    /// Reads of the result fail with [`crate::Error::Interrupted`] once `interrupt` is raised: scans also
    /// where there is nothing to visit for long, and all reads where they wait for other threads or nodes.
    #[must_use]
    pub fn interruptible(mut self, interrupt: Arc<Interrupt>) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// The same snapshot, in which a session's private keys are seen too.
    #[must_use]
    pub fn with_private(mut self, private: Option<Arc<PrivateKeys>>) -> Self {
        self.private = private;
        self
    }

    fn private_at(&self, key: &[u8]) -> Option<&PrivateKeys> {
        self.private.as_deref().filter(|private| private.contains(key))
    }

    /// Splits a range into at most `parts` of about equal size, in order and without gaps, for parallel
    /// scans. Small ranges stay whole.
    pub fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        match self.private_at(&range.start) {
            Some(_) => Ok(vec![range.clone()]),
            None => self.engine().split_range(range, parts, self.read_at()),
        }
    }

    /// About how many bytes the newest versions of a range take.
    pub fn approximate_bytes(&self, range: &KeyRange) -> Result<u64> {
        match self.private_at(&range.start) {
            Some(private) => Ok(private.approximate_bytes(range)),
            None => self.engine().approximate_bytes(range, self.read_at()),
        }
    }

    /// [`Reader::scan`] of much that is read once: caches keep what they have.
    pub fn scan_once(&self, range: &KeyRange, visit: &mut Visit) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        if self.private_at(&range.start).is_some() {
            return self.scan(range, false, visit);
        }
        let request = ScanRequest {
            range,
            ts: self.ts(),
            reverse: false,
            interrupt: self.interrupt.as_deref(),
            fills_caches: false,
        };
        self.engine().scan(request, visit)
    }

    fn read_at(&self) -> ReadAt<'_> {
        ReadAt {
            ts: self.ts(),
            interrupt: self.interrupt.as_deref(),
        }
    }

    /// A reader of the newest state of the same store.
    pub(crate) fn newest(&self) -> Reading<'_> {
        Reading {
            engine: &**self.engine(),
            at: ReadAt {
                ts: LATEST,
                interrupt: self.interrupt.as_deref(),
            },
            private: self.private.as_deref(),
        }
    }

    fn reading(&self) -> Reading<'_> {
        Reading {
            engine: &**self.engine(),
            at: self.read_at(),
            private: self.private.as_deref(),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("ts", &self.ts())
            .finish_non_exhaustive()
    }
}

impl Reader for Snapshot {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.reading().get_with(key, found)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        self.reading().batch_get_with(keys, visit)
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        self.reading().scan(range, reverse, visit)
    }

    fn will_read(&self, keys: &[&[u8]]) {
        self.engine().will_read(keys, self.read_at());
    }

    fn coprocessor(&self, request: CoprocessorRequest) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        // One without a timestamp is consistent within one call only.
        let is_moment = self.ts() != LATEST;
        let mut ranges = request.ranges.iter();
        if !is_moment || ranges.any(|range| self.private_at(&range.start).is_some()) {
            return Ok(None);
        }
        let interrupt = self.interrupt.clone();
        let responses = self.engine().coprocessor(request, self.ts(), interrupt)?;
        Ok(responses.map(|responses| {
            let snapshot = self.clone();
            Box::new(Held {
                responses,
                _snapshot: snapshot,
            }) as Box<dyn CoprocessorResponses>
        }))
    }
}

/// Responses, and the snapshot that keeps what they are computed from.
struct Held {
    responses: Box<dyn CoprocessorResponses>,
    _snapshot: Snapshot,
}

impl CoprocessorResponses for Held {
    fn next(&mut self) -> Result<Option<CoprocessorResponse>> {
        self.responses.next()
    }

    fn not_computed(&mut self, reason: &str) {
        self.responses.not_computed(reason);
    }

    fn in_flight_bytes(&self) -> usize {
        self.responses.in_flight_bytes()
    }
}

/// A reader of an engine at one timestamp. It only borrows, so it costs nothing to create.
pub(crate) struct Reading<'a> {
    engine: &'a dyn Engine,
    at: ReadAt<'a>,
    private: Option<&'a PrivateKeys>,
}

impl Reading<'_> {
    fn private_at(&self, key: &[u8]) -> Option<&PrivateKeys> {
        self.private.filter(|private| private.contains(key))
    }

    /// A batch with private keys in it.
    #[cold]
    fn batch_get_of_both(
        &self,
        private: &PrivateKeys,
        keys: &[Vec<u8>],
        visit: &mut VisitBatch,
    ) -> Result<()> {
        let others = private.batch_get_with(keys, visit);
        if others.is_empty() {
            return Ok(());
        }
        let stored: Vec<Vec<u8>> = others.iter().map(|&position| keys[position].clone()).collect();
        self.engine
            .batch_get_with(&stored, self.at, &mut |at, value| visit(others[at], value))
    }
}

impl Reader for Reading<'_> {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        match self.private_at(key) {
            Some(private) => Ok(private.get_with(key, found)),
            None => self.engine.get_with(key, self.at, found),
        }
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        match self.private {
            Some(private) if keys.iter().any(|key| private.contains(key)) => {
                self.batch_get_of_both(private, keys, visit)
            }
            _ => self.engine.batch_get_with(keys, self.at, visit),
        }
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        if let Some(private) = self.private_at(&range.start) {
            private.scan(range, reverse, visit);
            return Ok(());
        }
        self.engine.scan(
            ScanRequest {
                range,
                ts: self.at.ts,
                reverse,
                interrupt: self.at.interrupt,
                fills_caches: true,
            },
            visit,
        )
    }
}
