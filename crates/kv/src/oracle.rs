//! Timestamps for embedded engines: strictly increasing, and readers never wait for a commit in flight.
//!
//! A snapshot must never change: everything committed at or below a reader's timestamp has to be in the store
//! when the timestamp is given. But a commit chooses its timestamp milliseconds before its write is durable.
//! Readers that waited that long would be as slow as the disk. So:
//!
//! - A commit group takes a timestamp well above all issued ones, the *ceiling*.
//! - While the group is in flight, readers get timestamps below the ceiling, so they do not see the group,
//!   now or later.
//! - Once the group is durable and applied, it is *published*: the ceiling becomes the floor, and the next
//!   reader is above it and sees the group.
//!
//! One commit group is in flight at a time (`group_commit`). The hot path is one compare-and-swap.

use crate::error::{Error, Result};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use crate::timestamp::{Clock, PER_MILLISECOND, Timestamp, timestamp_from_ms};
use std::sync::Arc;
use std::time::Duration;

/// The ceiling when no commit is in flight.
const OPEN: Timestamp = Timestamp::MAX;

/// How long to sleep between checks of a commit in flight, for a request beyond its timestamp.
const POLL: Duration = Duration::from_micros(100);

/// Gives timestamps.
pub struct Oracle {
    /// The highest timestamp given to a reader or published by a commit.
    last: AtomicU64,
    /// The timestamp of the commit in flight, or [`OPEN`].
    ceiling: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl Oracle {
    /// Everything it gives is above `floor`, the newest timestamp found on disk.
    pub fn new(floor: Timestamp, clock: Arc<dyn Clock>) -> Self {
        Self {
            last: AtomicU64::new(floor.max(1)),
            ceiling: AtomicU64::new(OPEN),
            clock,
        }
    }

    /// The highest timestamp given so far. Commits from now on are above it.
    pub fn last(&self) -> Timestamp {
        self.last.load(Ordering::SeqCst)
    }

    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// A timestamp above all given before, below the commit in flight, and at or above every published one.
    ///
    /// The order matters: this reads `last` before `ceiling`, and [`Oracle::begin_commit`] changes `last`
    /// after it has set the ceiling. So a caller that missed the ceiling fails its compare-and-swap.
    pub fn current_ts(&self) -> Timestamp {
        let now = timestamp_from_ms(self.clock.now_ms());
        loop {
            let last = self.last.load(Ordering::SeqCst);
            let ceiling = self.ceiling.load(Ordering::SeqCst);
            let next = if ceiling == OPEN {
                now.max(last + 1)
            } else {
                // No jump towards the ceiling: the room below it has to last as long as the commit takes.
                last + 1
            };
            if next >= ceiling {
                // A commit has been in flight for 2^18 timestamps.
                thread::sleep(POLL);
                continue;
            }
            if self
                .last
                .compare_exchange_weak(last, next, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
                return next;
            }
        }
    }

    /// Makes sure that nothing will be committed at or below `ts` any more. Waits for a commit in flight
    /// there.
    pub fn admit(&self, ts: Timestamp) -> Result<()> {
        loop {
            let last = self.last.load(Ordering::SeqCst);
            if ts <= last {
                return Ok(());
            }
            let now = timestamp_from_ms(self.clock.now_ms()).saturating_add(PER_MILLISECOND - 1);
            if ts > now {
                return Err(Error::SnapshotInFuture { ts });
            }
            if ts >= self.ceiling.load(Ordering::SeqCst) {
                thread::sleep(POLL);
                continue;
            }
            if self
                .last
                .compare_exchange_weak(last, ts, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
                return Ok(());
            }
        }
    }

    /// Opens a commit and returns its timestamp. One at a time; it ends with [`Oracle::publish`]. A group's
    /// later runs may use the timestamps above this one.
    pub fn begin_commit(&self) -> Timestamp {
        let now = timestamp_from_ms(self.clock.now_ms());
        loop {
            let last = self.last.load(Ordering::SeqCst);
            let ceiling = now.max(last + PER_MILLISECOND);
            self.ceiling.store(ceiling, Ordering::SeqCst);
            // Moving `last` fails every reader that has looked at `last` but not yet at this ceiling.
            if self
                .last
                .compare_exchange(last, last + 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
            {
                return ceiling;
            }
        }
    }

    /// Ends the commit that was opened at `commit_ts` and has used timestamps up to `last_ts`. Timestamps
    /// given from now on are above them.
    pub fn publish(&self, commit_ts: Timestamp, last_ts: Timestamp) {
        // The ceiling first. Between the two steps a reader may get a timestamp on either side of `last_ts`.
        // Both are correct: the write is done, and its caller has not been answered yet.
        let _ = self
            .ceiling
            .compare_exchange(commit_ts, OPEN, Ordering::SeqCst, Ordering::Relaxed);
        self.last.fetch_max(last_ts, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::{ManualClock, SystemClock};
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    #[test]
    fn readers_stay_below_a_commit_in_flight_and_above_a_published_one() {
        let oracle = Oracle::new(0, Arc::new(ManualClock::new(1_000)));
        let before = oracle.current_ts();
        let commit_ts = oracle.begin_commit();
        let during = oracle.current_ts();
        assert!(before < during && during < commit_ts);
        oracle.publish(commit_ts, commit_ts);
        assert!(oracle.current_ts() > commit_ts);
    }

    #[test]
    fn a_clock_that_goes_back_does_not_take_timestamps_with_it() {
        let clock = Arc::new(ManualClock::new(5_000));
        let oracle = Oracle::new(0, clock.clone());
        let first = oracle.current_ts();
        clock.set_ms(10);
        assert!(oracle.current_ts() > first);
        let commit_ts = oracle.begin_commit();
        assert!(commit_ts > first);
        oracle.publish(commit_ts, commit_ts);
        let restarted = Oracle::new(commit_ts, clock);
        assert!(restarted.current_ts() > commit_ts);
    }

    #[test]
    fn the_future_is_refused() {
        let oracle = Oracle::new(0, Arc::new(ManualClock::new(1_000)));
        assert!(oracle.admit(timestamp_from_ms(900)).is_ok());
        assert!(oracle.admit(timestamp_from_ms(1_000) + 5).is_ok());
        assert_eq!(
            oracle.admit(timestamp_from_ms(1_001)),
            Err(Error::SnapshotInFuture {
                ts: timestamp_from_ms(1_001)
            })
        );
        assert!(oracle.begin_commit() > timestamp_from_ms(1_000) + 5);
    }

    /// Returns a different time to each call, up to a second apart.
    #[derive(Default)]
    struct ScatteredClock(AtomicU64);

    impl Clock for ScatteredClock {
        fn now_ms(&self) -> u64 {
            let look = self.0.fetch_add(1, Ordering::Relaxed);
            1_000_000 + look / 16 + (look.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54)
        }
    }

    #[test]
    fn snapshots_are_complete_and_stable_under_concurrent_commits() {
        race(Arc::new(SystemClock));
    }

    #[test]
    fn snapshots_are_stable_under_a_scattered_clock() {
        race(Arc::new(ScatteredClock::default()));
    }

    /// One writer commits, readers take timestamps. Everything at or below a timestamp must have been applied
    /// when it was given: then what a snapshot sees is complete, and nothing is ever added to it.
    fn race(clock: Arc<dyn Clock>) {
        const COMMITS: usize = 20_000;
        const RACES: usize = 200;
        let oracle = Oracle::new(0, clock);
        let applied = AtomicUsize::new(0);
        let acknowledged = AtomicU64::new(0);
        let raced = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let read = || {
            // The timestamps given while another commit was being applied: only those could be wrong.
            let mut given = Vec::new();
            let mut last = (0, usize::MAX);
            while !stop.load(Ordering::Relaxed) {
                let acknowledged_before = acknowledged.load(Ordering::SeqCst);
                let ts = oracle.current_ts();
                let there = applied.load(Ordering::SeqCst);
                assert!(ts > acknowledged_before, "misses an acknowledged commit");
                assert!(ts > last.0, "not increasing");
                if there != last.1 {
                    raced.fetch_add(1, Ordering::Relaxed);
                    given.extend([last, (ts, there)]);
                }
                last = (ts, there);
            }
            given
        };
        thread::scope(|scope| {
            let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
            let mut commits = Vec::with_capacity(COMMITS);
            while commits.len() < COMMITS || raced.load(Ordering::Relaxed) < RACES {
                // Lets readers run where there are fewer processors than threads.
                if commits.len() % 64 == 0 {
                    thread::yield_now();
                }
                let commit_ts = oracle.begin_commit();
                commits.push(commit_ts);
                for _ in 0..50 {
                    std::hint::spin_loop();
                }
                applied.fetch_add(1, Ordering::SeqCst);
                oracle.publish(commit_ts, commit_ts);
                acknowledged.store(commit_ts, Ordering::SeqCst);
            }
            stop.store(true, Ordering::Relaxed);
            assert!(commits.is_sorted_by(|a, b| a < b));
            let mut all = HashSet::new();
            for reader in readers {
                for (ts, there) in reader.join().unwrap() {
                    if there != usize::MAX {
                        let below = commits.partition_point(|commit_ts| *commit_ts <= ts);
                        assert!(below <= there, "the snapshot at {ts} moves");
                        all.insert(ts);
                    }
                }
            }
            assert!(all.len() > RACES / 2, "nobody raced");
        });
    }
}
