//! A node's lease: until when it may rely on the definitions that it knows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kv::{Fence, PER_MILLISECOND, Timestamp};

/// The largest [`Node::number`]: connections' ids are made of it and a count, and have 32 bits.
pub const NUMBER_MAX: u32 = (1 << 11) - 1;

/// This process as the store knows it, from when it joined until its lease was over.
#[derive(Debug)]
pub struct Node {
    /// For as long as the process lives; never given to another.
    pub id: i64,
    /// How often the process has joined: another number is another lease.
    pub term: u64,
    /// From 1 to [`NUMBER_MAX`]; no two live nodes have the same. Given again when all others have been.
    pub number: u32,
    /// The end of the lease. Writes are committed before it or not at all.
    pub(crate) fence: Fence,
    /// Tables whose definitions were others under the lease before, and those that another node had frozen when this one began.
    pub(super) moved: BTreeSet<i64>,
    started: Instant,
    /// Milliseconds since `started` for which the lease is good, by this machine's clock and on the safe side.
    good_for_ms: AtomicU64,
    lost: AtomicBool,
}

impl Node {
    pub(super) fn new(id: i64, term: u64, number: u32) -> Self {
        Self {
            id,
            term,
            number,
            fence: Fence::new(0),
            moved: BTreeSet::new(),
            started: Instant::now(),
            good_for_ms: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// What bounds the commits of those who rely on the lease.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The lease lasts until `end`, which is `lease` after a moment that was not before `asked`.
    pub(super) fn renewed(&self, asked: Instant, lease: Duration, end: Timestamp) {
        self.fence.extend(end);
        // A tenth for clocks that do not run alike.
        let good_until = asked + lease * 9 / 10;
        let good_for = good_until.saturating_duration_since(self.started);
        self.good_for_ms
            .fetch_max(milliseconds(good_for), Ordering::SeqCst);
    }

    /// It is over, and others may have changed definitions since.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// Whether what is read at a moment, [`kv::LATEST`] after it was read, is read within the lease.
    pub(crate) fn covers(&self, ts: Timestamp) -> bool {
        match ts {
            kv::LATEST => self.is_good(),
            ts => ts <= self.fence.last(),
        }
    }

    /// Whether who began under `before` finds these tables under this lease as they were: it is the same lease, or the next
    /// one, and none of them has moved in between.
    pub(crate) fn continues(&self, before: &Self, mut tables: impl Iterator<Item = i64>) -> bool {
        self.term == before.term
            || self.term == before.term + 1 && tables.all(|table| !self.moved.contains(&table))
    }

    /// Whether statements may begin: reads have no fence, so this goes by the clock.
    pub(crate) fn is_good(&self) -> bool {
        !self.is_lost() && milliseconds(self.started.elapsed()) < self.good_for_ms.load(Ordering::SeqCst)
    }
}

/// The timestamps that a time spans.
pub(super) fn ticks(time: Duration) -> u64 {
    milliseconds(time).saturating_mul(PER_MILLISECOND)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
