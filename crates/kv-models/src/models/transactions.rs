//! All of an embedded engine, on a storage in memory that records when it is synced, and whose writes may
//! fail.
//!
//! What has to hold: no update is lost, so the value that an early released lock passes on is the one that is
//! committed; a commit that is acknowledged has been synced; no reader sees what has not been; a snapshot
//! sees all of a transaction or nothing, twice the same; locks and pending commits come to an end.

use super::{below, run_together};
use crate::locked_versions::LockedVersions;
use crate::memory::MemoryStorage;
use crate::storage::{ApplyError, ApplyHow, KeyGuard, Seen, Storage, VisitVersions};
use crate::sync::thread;
use crate::{
    Durability, EmbeddedEngine, EmbeddedOptions, Error, KeyRange, LATEST, LockOptions, ManualClock, Reader,
    Result, ScanRequest, Store, Timestamp, TxnOptions, Visit, WriteBuffer,
};
use std::sync::{Arc, Mutex as Unseen, PoisonError};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

#[derive(Default)]
struct Log {
    applied: Timestamp,
    synced: Timestamp,
}

struct Logged {
    inner: MemoryStorage,
    log: Arc<Unseen<Log>>,
    /// One of so many runs fails; 0: none does.
    faults: u64,
}

fn locked(log: &Unseen<Log>) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logged {
    /// All commits here ask for a sync.
    fn judge(&self, ts: Timestamp, seen_ts: Timestamp) {
        let synced = locked(&self.log).synced;
        assert!(
            ts == LATEST || seen_ts <= synced,
            "read at {ts}: {seen_ts}, synced {synced}"
        );
    }
}

impl Storage for Logged {
    type Prepared = <MemoryStorage as Storage>::Prepared;

    fn name(&self) -> &'static str {
        "model"
    }

    fn newest_commit_ts(&self) -> Timestamp {
        0
    }

    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        let seen = self.inner.get_with(key, ts, found)?;
        self.judge(ts, seen.commit_ts);
        Ok(seen)
    }

    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        let seen = self.inner.get_settled_with(key, ts, found)?;
        if let Some(seen) = seen {
            self.judge(ts, seen.commit_ts);
        }
        Ok(seen)
    }

    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        self.inner.commit_ts_of(key)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        self.inner
            .batch_get_with(keys, ts, &mut |index, commit_ts, value| {
                self.judge(ts, commit_ts);
                visit(index, commit_ts, value);
            })
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        self.inner.scan(request, visit)
    }

    fn prepare(&self, writes: &WriteBuffer, locked: &LockedVersions) -> Result<Self::Prepared> {
        self.inner.prepare(writes, locked)
    }

    fn apply(
        &self,
        group: Vec<Self::Prepared>,
        commit_ts: Timestamp,
        how: ApplyHow,
    ) -> std::result::Result<(), ApplyError> {
        // Other threads run meanwhile.
        thread::sleep(Duration::ZERO);
        if self.faults > 0 && below(self.faults) == 0 {
            return Err(ApplyError::NotApplied(Error::DiskFull("on purpose".into())));
        }
        self.inner.apply(group, commit_ts, how)?;
        let mut log = locked(&self.log);
        log.applied = commit_ts;
        if how.sync {
            log.synced = commit_ts;
        }
        Ok(())
    }

    fn sync_log(&self) -> Result<()> {
        let applied = locked(&self.log).applied;
        thread::sleep(Duration::ZERO);
        locked(&self.log).synced = applied;
        Ok(())
    }

    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64> {
        self.inner.collect(safe_point, thorough, guard)
    }

    fn split_range(&self, range: &KeyRange, parts: usize) -> Result<Vec<KeyRange>> {
        self.inner.split_range(range, parts)
    }

    fn approximate_bytes(&self, range: &KeyRange) -> Result<u64> {
        self.inner.approximate_bytes(range)
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        self.inner.destroy_range(range)
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

struct World {
    store: Store,
    log: Arc<Unseen<Log>>,
}

impl World {
    fn new(faults: u64, background: bool) -> Arc<Self> {
        let log = Arc::<Unseen<Log>>::default();
        let storage = Logged {
            inner: MemoryStorage::new(),
            log: Arc::clone(&log),
            faults: 0,
        };
        let options = EmbeddedOptions {
            background,
            clock: Arc::new(ManualClock::new(1_000)),
            ..EmbeddedOptions::default()
        };
        let storage = Logged { faults, ..storage };
        let store = Store::new(Arc::new(EmbeddedEngine::new(storage, Arc::default(), options)));
        Arc::new(Self { store, log })
    }

    /// Adds to the numbers of some keys, and returns the commit's timestamp.
    fn add(&self, changes: &[(&str, i64)]) -> Result<Timestamp> {
        let mut txn = self.store.begin(TxnOptions::default())?;
        for (key, change) in changes {
            let found = txn.lock_one(key.as_bytes(), &LockOptions::exclusive(LONG))?;
            let number = found.map_or(0, |bytes| number_of(&bytes));
            txn.put(key.as_bytes().to_vec(), (number + change).to_be_bytes().to_vec())?;
        }
        let commit_ts = txn.commit(Durability::Sync)?;
        let synced = locked(&self.log).synced;
        assert!(
            commit_ts <= synced,
            "acknowledged before the sync: {commit_ts}, {synced}"
        );
        Ok(commit_ts)
    }

    /// [`World::add`]; false: it failed as it may.
    fn added(&self, changes: &[(&str, i64)]) -> bool {
        match self.add(changes) {
            Ok(_) => true,
            Err(Error::Deadlock | Error::DiskFull(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn numbers(&self) -> (i64, i64) {
        let snapshot = self.store.snapshot_now().expect("a snapshot");
        let read = || {
            let keys = [b"a".to_vec(), b"b".to_vec()];
            let found = snapshot.batch_get(&keys).expect("numbers");
            let number = |at: usize| found[at].as_deref().map_or(0, number_of);
            (number(0), number(1))
        };
        let first = read();
        let alone = snapshot.get(b"a").expect("a number");
        assert_eq!(
            (first.0, first),
            (alone.map_or(0, |bytes| number_of(&bytes)), read())
        );
        first
    }
}

fn number_of(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes.try_into().expect("eight bytes"))
}

fn run<T: Send + 'static, const N: usize>(world: &Arc<World>, threads: [fn(&World) -> T; N]) -> Vec<T> {
    let ended = run_together(world, threads);
    let stats = world.store.lock_stats();
    assert_eq!((stats.held, stats.waiting), (0, 0));
    ended
}

/// A counter that several threads change at the same time. With `faults` some commits fail, and those that
/// depend on them.
fn counter(faults: u64, background: bool) {
    let world = World::new(faults, background);
    let added = run(
        &world,
        [
            |world| {
                [1, 2]
                    .map(|n| i64::from(world.added(&[("a", n)])) * n)
                    .iter()
                    .sum::<i64>()
            },
            |world| {
                [4, 8]
                    .map(|n| i64::from(world.added(&[("a", n)])) * n)
                    .iter()
                    .sum::<i64>()
            },
            |world| {
                [16, 32]
                    .map(|n| i64::from(world.added(&[("a", n)])) * n)
                    .iter()
                    .sum::<i64>()
            },
        ],
    );
    assert_eq!(world.numbers().0, added.into_iter().sum::<i64>());
    if faults == 0 {
        assert_eq!(world.numbers().0, 63);
    }
}

pub fn a_counter() {
    counter(0, true);
}

pub fn a_counter_without_a_thread() {
    counter(0, false);
}

pub fn a_counter_whose_commits_fail() {
    counter(3, below(2) == 0);
}

/// Transfers between two numbers in both orders, which deadlock, and readers that see their sum.
pub fn transfers() {
    let world = World::new(0, true);
    run(
        &world,
        [
            |world| {
                world.added(&[("a", 1), ("b", -1)]);
                world.added(&[("b", 2), ("a", -2)]);
            },
            |world| {
                world.added(&[("b", 4), ("a", -4)]);
                world.added(&[("a", 8), ("b", -8)]);
            },
            |world| {
                for _ in 0..3 {
                    let (a, b) = world.numbers();
                    assert_eq!(a + b, 0, "half of a transfer");
                }
            },
        ],
    );
    let (a, b) = world.numbers();
    assert_eq!(a + b, 0);
}
