//! Newest versions that are deletions, to be removed from `latest` once no snapshot needs to know of them.
//!
//! The history's entries name such deletions in the order in which they expire, so no scan has to look for
//! them. Deletions from before a restart are in no history: compactions drop them ([`crate::options`]), or
//! the first scan or page load that passes over one queues it here.
//!
//! A deletion may only be removed under its key's lock. Otherwise a commit could write the key between the
//! check that the deletion is still the newest version and the removal, and its value would be removed
//! instead. A lock that is not free is not waited for.

use super::Latest;
use kv::{KeyGuard, Result, Timestamp};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// A key whose newest version, committed at this timestamp, is a deletion that no snapshot needs.
pub(crate) type ExpiredDeletion = (Timestamp, Box<[u8]>);

/// More are not queued: they wait until a scan or a page load passes over them.
const QUEUE_MAX: usize = 1 << 20;

/// Keys removed by one write: well below a millisecond of a writer's time.
const BATCH_KEYS: usize = 256;

/// Deletions that can be removed from `latest`, oldest first.
pub(crate) struct ExpiredDeletions {
    queue: Mutex<VecDeque<ExpiredDeletion>>,
    /// Deletions up to this timestamp may be in no queue and no history.
    unlisted_ts: AtomicU64,
}

impl ExpiredDeletions {
    /// For a store whose newest commit is of `newest_ts`: deletions up to that one are not listed.
    pub fn new(newest_ts: Timestamp) -> Self {
        Self {
            queue: Mutex::default(),
            unlisted_ts: AtomicU64::new(newest_ts),
        }
    }

    pub fn push(&self, deletion: ExpiredDeletion) {
        let mut queue = self.queue.lock();
        if queue.len() < QUEUE_MAX {
            queue.push_back(deletion);
        } else {
            self.note_unlisted(deletion.0);
        }
    }

    /// Says that deletions up to `ts` may be listed nowhere.
    pub fn note_unlisted(&self, ts: Timestamp) {
        self.unlisted_ts.fetch_max(ts, Ordering::Relaxed);
    }

    /// Queues a deletion that a reader has passed over, if it may be listed nowhere.
    pub fn push_if_unlisted(&self, deleted_ts: Timestamp, key: &[u8]) {
        if self.may_be_unlisted(deleted_ts) {
            self.push((deleted_ts, Box::from(key)));
        }
    }

    fn may_be_unlisted(&self, deleted_ts: Timestamp) -> bool {
        deleted_ts <= self.unlisted_ts.load(Ordering::Relaxed)
    }

    fn take(&self, count: usize) -> Vec<ExpiredDeletion> {
        let mut queue = self.queue.lock();
        let count = count.min(queue.len());
        queue.drain(..count).collect()
    }

    pub fn len(&self) -> usize {
        self.queue.lock().len()
    }
}

/// Removes all queued deletions up to `safe_point` whose keys are not locked, and returns how many. The
/// others stay queued.
pub(crate) fn remove_expired(
    latest: &Latest,
    safe_point: Timestamp,
    guard: &mut dyn KeyGuard,
) -> Result<u64> {
    let expired = latest.expired();
    let mut removed = 0;
    let mut remaining = Vec::new();
    let outcome = loop {
        let batch = expired.take(BATCH_KEYS);
        if batch.is_empty() {
            break Ok(());
        }
        let (locked, others): (Vec<_>, Vec<_>) = batch
            .iter()
            .partition(|(deleted_ts, key)| *deleted_ts <= safe_point && guard.try_lock(key));
        let count = latest.remove_deletions(locked.into_iter());
        guard.unlock_all();
        match count {
            Ok(count) => {
                removed += count;
                remaining.extend(others.into_iter().cloned());
            }
            Err(error) => {
                remaining.extend(batch);
                break Err(error);
            }
        }
    };
    remaining.into_iter().for_each(|deletion| expired.push(deletion));
    outcome.map(|()| removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_are_taken_in_their_order_and_those_of_before_are_unlisted() {
        let expired = ExpiredDeletions::new(3);
        assert!(expired.may_be_unlisted(3) && !expired.may_be_unlisted(4));
        expired.push_if_unlisted(4, b"listed elsewhere");
        expired.push_if_unlisted(3, b"a");
        expired.push((5, Box::from(*b"b")));
        assert_eq!(expired.take(1), [(3, Box::from(*b"a"))]);
        assert_eq!(expired.take(2), [(5, Box::from(*b"b"))]);
        assert_eq!(expired.len(), 0);
        expired.note_unlisted(9);
        assert!(expired.may_be_unlisted(9));
    }
}
