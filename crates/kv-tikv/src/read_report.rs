//! The report to PD of the oldest timestamp that this node still reads. [`crate::gc`] describes the protocol.

use crate::options::TikvOptions;
use kv::{Error, Result, Timestamp};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A report is valid for so many intervals.
const HOLD_INTERVALS: u32 = 5;

/// What this node has reported to PD.
pub struct ReadReport {
    pub service: String,
    pub age_ms: AtomicU64,
    pub hold_ttl: Duration,
    /// The oldest timestamp that it has reported, or is about to report.
    reported: AtomicU64,
    /// Held for one report at a time: a report may raise `reported` and lower it again before it is sent.
    reporting: Mutex<()>,
    /// Until when the report is valid; `None`: there is none, and none is required.
    pub held_until: Mutex<Option<Instant>>,
    /// Held for one collection at a time.
    pub collecting: Mutex<()>,
    /// Whether TiDB servers use the cluster too, so that they move the safe point.
    pub is_left_to_tidb: AtomicBool,
    /// If TiDB moves the safe point: all locks of ours that are older than this are resolved. `MAX`
    /// otherwise: the node that moves the safe point resolves them.
    pub resolved: AtomicU64,
}

impl ReadReport {
    pub fn new(options: &TikvOptions) -> Self {
        let random = RandomState::new();
        Self {
            service: format!("stemdb-{:016x}", random.hash_one(std::process::id())),
            age_ms: AtomicU64::new(milliseconds(options.gc_age)),
            hold_ttl: options.gc_interval * HOLD_INTERVALS,
            reported: AtomicU64::new(0),
            reporting: Mutex::new(()),
            held_until: Mutex::new(None),
            collecting: Mutex::new(()),
            is_left_to_tidb: AtomicBool::new(false),
            resolved: AtomicU64::new(Timestamp::MAX),
        }
    }

    pub fn set_age(&self, age: Duration) {
        self.age_ms.store(milliseconds(age), Ordering::Relaxed);
    }

    /// Refuses to pin a timestamp below the report: any node may collect what it needs. Newer pins are
    /// reported before the safe point moves.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn check_reported(&self, ts: Timestamp) -> Result<()> {
        let reported = self.reported.load(Ordering::SeqCst);
        if ts < reported {
            return Err(Error::SnapshotTooOld {
                ts,
                safe_point: reported,
            });
        }
        Ok(())
    }

    /// Reports what is read, through `report`, which returns the oldest timestamp that PD allows to read.
    /// Older versions may have been collected.
    pub fn hold(
        &self,
        oldest: impl Fn() -> Timestamp,
        report: impl Fn(Timestamp) -> Result<Timestamp>,
    ) -> Result<Timestamp> {
        let _one_at_a_time = self.reporting.lock();
        loop {
            let oldest_read = self.choose(&oldest);
            let oldest_allowed = report(oldest_read)?;
            if oldest_allowed <= oldest_read {
                return Ok(oldest_allowed);
            }
            // These versions were collected before this node joined, or while it was cut off. Reads of them
            // are refused from here on.
            self.reported.fetch_max(oldest_allowed, Ordering::SeqCst);
        }
    }

    /// Chooses the timestamp to report: the oldest that is read. Pins below it are refused from here on.
    fn choose(&self, oldest: impl Fn() -> Timestamp) -> Timestamp {
        // What was reported before may have been collected, so the report never goes back.
        let before = self.reported.fetch_max(oldest(), Ordering::SeqCst);
        // A pin may have been added between the first look and the store above. Later ones are refused, so
        // this look sees all of them.
        let reported = oldest().max(before);
        self.reported.store(reported, Ordering::SeqCst);
        reported
    }

    /// Fails while PD has no valid report of what this node still reads.
    pub fn check_hold(&self) -> Result<()> {
        match *self.held_until.lock() {
            Some(until) if Instant::now() >= until => Err(Error::Unavailable(
                "this node could not report to PD which versions it still reads, so they may have been collected"
                    .into(),
            )),
            _ => Ok(()),
        }
    }
}

pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::mpsc::channel;
    use std::thread;

    /// A report may lower its value again before it sends it. A second report must not take that first
    /// value for sent.
    #[test]
    fn reports_do_not_overlap() {
        let gc = ReadReport::new(&TikvOptions::new(vec!["pd:2379".into()]));
        let (pinned, now) = (50, 100);
        thread::scope(|scope| {
            let (other, reported_by_other) = channel();
            let looks = Cell::new(0);
            let oldest = || {
                looks.set(looks.get() + 1);
                if looks.get() == 1 {
                    return now;
                }
                // Another thread has pinned since, and a second report begins.
                let other = other.clone();
                let gc = &gc;
                scope.spawn(move || {
                    let report = |oldest: Timestamp| {
                        other.send(oldest).unwrap();
                        Ok(0)
                    };
                    gc.hold(|| pinned, report).unwrap();
                });
                let too_soon = reported_by_other.recv_timeout(Duration::from_millis(200));
                assert!(too_soon.is_err(), "{too_soon:?}");
                pinned
            };
            let report = |oldest: Timestamp| {
                assert_eq!(oldest, pinned);
                Ok(0)
            };
            gc.hold(oldest, report).unwrap();
            assert_eq!(reported_by_other.recv(), Ok(pinned));
        });
        assert_eq!(gc.check_reported(pinned), Ok(()));
    }
}
