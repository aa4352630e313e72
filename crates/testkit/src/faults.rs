//! A storage with injected faults, around any [`Storage`].

use crate::gate::{Gate, Place};
use kv::engine::VisitNewer;
use kv::{
    ApplyError, ApplyHow, Damage, EmbeddedEngine, EmbeddedOptions, Error, Interrupt, KeyGuard, KeyRange,
    LockedVersions, Pressure, Result, ScanRequest, Seen, SortedFile, SortedPairs, Storage, Store, Timestamp,
    Visit, VisitVersions, Watch, WriteBuffer,
};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How a commit group ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Refused before anything was written, as on a nearly full disk.
    Refused(Error),
    /// The write failed before any of it arrived. The store cannot know that.
    Lost(Error),
    /// The write failed after all of it had arrived. The store cannot know that either.
    Arrived(Error),
    /// A panic before anything was written.
    Panic,
    /// The write works.
    None,
}

impl Fault {
    fn befall(self, write: impl FnOnce() -> Result<(), ApplyError>) -> Result<(), ApplyError> {
        match self {
            Self::None => write(),
            Self::Panic => panic!("a write was to panic"),
            Self::Refused(error) => Err(ApplyError::NotApplied(error)),
            Self::Lost(error) => Err(ApplyError::Unknown(error)),
            Self::Arrived(error) => {
                write()?;
                Err(ApplyError::Unknown(error))
            }
        }
    }
}

/// A step of a bulk load, or of the reads that precede it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A scan of rows and index entries, not of metadata.
    Scan,
    SortedFile,
    Ingest,
}

#[derive(Debug, Default)]
struct Plan {
    commits: VecDeque<Fault>,
    commit_delay: Duration,
    sync_error: Option<Error>,
    read_error: Option<Error>,
    read_delay: Duration,
    reads: Arc<Place>,
    collections: Arc<Place>,
    steps: HashMap<Step, Arc<Place>>,
    ingest: Option<Fault>,
    sync_panics: bool,
    collection_panics: bool,
    damages: Vec<Damage>,
    scans_of_changes: usize,
}

/// The faults to inject, shared with the storage.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Plan>);

impl Faults {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Adds a fault for the next commit group that has none yet.
    pub fn next_commit(&self, fault: Fault) {
        self.0.lock().commits.push_back(fault);
    }

    /// A fault for the next time that files of a bulk load become part of the store.
    pub fn next_ingest(&self, fault: Fault) {
        self.0.lock().ingest = Some(fault);
    }

    /// How many times a range has been searched for what has changed.
    pub fn scans_of_changes(&self) -> usize {
        self.0.lock().scans_of_changes
    }

    /// How long each commit group takes.
    pub fn delay_commits(&self, delay: Duration) {
        self.0.lock().commit_delay = delay;
    }

    /// Fails every sync of the log from now on; `None` ends that.
    pub fn fail_syncs(&self, error: Option<Error>) {
        self.0.lock().sync_error = error;
    }

    /// Fails every read from now on; `None` ends that.
    pub fn fail_reads(&self, error: Option<Error>) {
        self.0.lock().read_error = error;
    }

    /// How long each read takes.
    pub fn delay_reads(&self, delay: Duration) {
        self.0.lock().read_delay = delay;
    }

    /// Makes every read wait at the returned gate.
    pub fn hold_reads(&self) -> Gate {
        let gate = Gate::new();
        self.0.lock().reads = gate.place();
        gate
    }

    /// Makes every garbage collection wait at the returned gate.
    pub fn hold_collections(&self) -> Gate {
        let gate = Gate::new();
        self.0.lock().collections = gate.place();
        gate
    }

    /// Makes every such step wait at the returned gate.
    pub fn hold(&self, step: Step) -> Gate {
        let gate = Gate::new();
        self.0.lock().steps.insert(step, gate.place());
        gate
    }

    fn pass(&self, step: Step) {
        let place = self.0.lock().steps.get(&step).map(Arc::clone);
        if let Some(place) = place {
            place.pass();
        }
    }

    /// Makes syncs of the log panic, or ends that.
    pub fn panic_in_syncs(&self, panics: bool) {
        self.0.lock().sync_panics = panics;
    }

    /// Makes garbage collections panic, or ends that.
    pub fn panic_in_collections(&self, panics: bool) {
        self.0.lock().collection_panics = panics;
    }

    /// Reports once that memory differs from what is stored.
    pub fn damage(&self, damage: Damage) {
        self.0.lock().damages.push(damage);
    }

    fn read(&self) -> Result<()> {
        let (delay, error, place) = {
            let plan = self.0.lock();
            (plan.read_delay, plan.read_error.clone(), Arc::clone(&plan.reads))
        };
        place.pass();
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        error.map_or(Ok(()), Err)
    }

    fn commit(&self) -> Fault {
        let (delay, fault) = {
            let mut plan = self.0.lock();
            (plan.commit_delay, plan.commits.pop_front())
        };
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        fault.unwrap_or(Fault::None)
    }
}

/// Any storage, with [`Faults`]. Preparing writes counts as a read, unless all the values that they replace
/// have been read under locks.
pub struct FaultyStorage<S> {
    inner: S,
    faults: Arc<Faults>,
}

impl<S: Storage> FaultyStorage<S> {
    pub fn new(inner: S, faults: &Arc<Faults>) -> Self {
        Self {
            inner,
            faults: Arc::clone(faults),
        }
    }
}

/// A store in memory with injected faults.
pub fn faulty_memory_store(faults: &Arc<Faults>, options: EmbeddedOptions) -> Store {
    let storage = FaultyStorage::new(kv::memory::MemoryStorage::new(), faults);
    Store::new(Arc::new(EmbeddedEngine::new(storage, Arc::default(), options)))
}

impl<S: Storage> Storage for FaultyStorage<S> {
    type Prepared = S::Prepared;

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn newest_commit_ts(&self) -> Timestamp {
        self.inner.newest_commit_ts()
    }

    fn get_with(&self, key: &[u8], ts: Timestamp, found: &mut dyn FnMut(&[u8])) -> Result<Seen> {
        self.faults.read()?;
        self.inner.get_with(key, ts, found)
    }

    fn get_settled_with(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Seen>> {
        self.faults.read()?;
        self.inner.get_settled_with(key, ts, found)
    }

    fn commit_ts_of(&self, key: &[u8]) -> Result<Timestamp> {
        self.faults.read()?;
        self.inner.commit_ts_of(key)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], ts: Timestamp, visit: &mut VisitVersions) -> Result<()> {
        self.faults.read()?;
        self.inner.batch_get_with(keys, ts, visit)
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        self.faults.read()?;
        if request.range.start.starts_with(b"t") {
            self.faults.pass(Step::Scan);
        }
        self.inner.scan(request, visit)
    }

    fn prepare(&self, writes: &WriteBuffer, locked: &LockedVersions) -> Result<S::Prepared> {
        let is_read = |(key, write): (&[u8], &kv::Write)| !write.is_fresh && locked.get(key).is_none();
        if writes.writes().any(is_read) {
            self.faults.read()?;
        }
        self.inner.prepare(writes, locked)
    }

    fn supersedes(&self, prepared: &S::Prepared) -> bool {
        self.inner.supersedes(prepared)
    }

    fn apply(&self, group: Vec<S::Prepared>, commit_ts: Timestamp, how: ApplyHow) -> Result<(), ApplyError> {
        self.faults
            .commit()
            .befall(|| self.inner.apply(group, commit_ts, how))
    }

    fn sync_log(&self) -> Result<()> {
        let (error, panics) = {
            let plan = self.faults.0.lock();
            (plan.sync_error.clone(), plan.sync_panics)
        };
        assert!(!panics, "a sync was to panic");
        match error {
            Some(error) => Err(error),
            None => self.inner.sync_log(),
        }
    }

    fn collect(&self, safe_point: Timestamp, thorough: bool, guard: &mut dyn KeyGuard) -> Result<u64> {
        let (place, panics) = {
            let plan = self.faults.0.lock();
            (Arc::clone(&plan.collections), plan.collection_panics)
        };
        place.pass();
        assert!(!panics, "a collection was to panic");
        self.inner.collect(safe_point, thorough, guard)
    }

    fn pressure(&self) -> Pressure {
        self.inner.pressure()
    }

    fn wanted_safe_point(&self) -> Timestamp {
        self.inner.wanted_safe_point()
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

    fn loads_by_file(&self) -> bool {
        self.inner.loads_by_file()
    }

    fn check_space(&self, bytes: usize) -> Result<()> {
        self.inner.check_space(bytes)
    }

    fn scratch_file(&self) -> Result<std::fs::File> {
        self.inner.scratch_file()
    }

    fn scan_newer(
        &self,
        range: &KeyRange,
        since: Timestamp,
        interrupt: Option<&Interrupt>,
        visit: &mut VisitNewer,
    ) -> Result<()> {
        self.faults.read()?;
        self.faults.0.lock().scans_of_changes += 1;
        self.inner.scan_newer(range, since, interrupt, visit)
    }

    fn visit_newest(&self, keys: &[Vec<u8>], visit: &mut VisitNewer) -> Result<()> {
        self.faults.read()?;
        self.inner.visit_newest(keys, visit)
    }

    fn watch(&self, range: &KeyRange) -> Result<Watch> {
        self.inner.watch(range)
    }

    fn is_blank(&self, range: &KeyRange) -> Result<bool> {
        self.faults.read()?;
        self.inner.is_blank(range)
    }

    fn write_sorted_file(&self, pairs: &SortedPairs, ts: Timestamp) -> Result<SortedFile> {
        self.faults.pass(Step::SortedFile);
        self.inner.write_sorted_file(pairs, ts)
    }

    fn ingest(&self, range: &KeyRange, files: Vec<SortedFile>) -> Result<(), ApplyError> {
        self.faults.pass(Step::Ingest);
        let fault = self.faults.0.lock().ingest.take();
        fault
            .unwrap_or(Fault::None)
            .befall(|| self.inner.ingest(range, files))
    }

    fn verify_cached(
        &self,
        range: &KeyRange,
        ts: Timestamp,
        interrupt: Option<&Interrupt>,
    ) -> Result<Vec<Damage>> {
        let mut found = self.inner.verify_cached(range, ts, interrupt)?;
        let damages = &mut self.faults.0.lock().damages;
        found.extend(damages.extract_if(.., |damage| range.contains(&damage.key)));
        Ok(found)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        self.inner.stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kv::{Durability, Reader, Transaction, TxnOptions};

    fn quiet() -> EmbeddedOptions {
        EmbeddedOptions {
            background: false,
            ..EmbeddedOptions::default()
        }
    }

    fn writing(store: &Store, key: &str) -> Transaction {
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        txn.put(key.into(), b"value".to_vec()).unwrap();
        txn
    }

    #[test]
    fn a_refused_commit_is_definite_and_the_next_one_works() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, quiet());
        let full = Error::DiskFull("test".into());
        faults.next_commit(Fault::Refused(full.clone()));
        assert_eq!(writing(&store, "a").commit(Durability::Sync), Err(full));
        assert_eq!(store.latest().get(b"a"), Ok(None));
        writing(&store, "a").commit(Durability::Sync).unwrap();
        assert!(store.latest().get(b"a").unwrap().is_some());
    }

    #[test]
    fn a_failed_write_is_undetermined_and_the_last_one() {
        for fault in [Fault::Lost, Fault::Arrived] {
            let faults = Faults::new();
            let store = faulty_memory_store(&faults, quiet());
            writing(&store, "acknowledged").commit(Durability::Sync).unwrap();
            let fault = fault(Error::Io("test".into()));
            faults.next_commit(fault.clone());
            let outcome = writing(&store, "doubtful").commit(Durability::Sync);
            assert!(matches!(outcome, Err(Error::Undetermined(_))), "{outcome:?}");
            let refused = writing(&store, "later").commit(Durability::Os);
            assert!(matches!(refused, Err(Error::StoreReadOnly(_))), "{refused:?}");
            assert!(
                store.latest().get(b"acknowledged").unwrap().is_some(),
                "reads go on"
            );
            let there = store.snapshot_now().unwrap().get(b"doubtful").unwrap().is_some();
            assert_eq!(there, matches!(fault, Fault::Arrived(_)));
            assert_eq!(store.lock_stats().held, 0);
        }
    }

    #[test]
    fn a_failed_sync_in_the_background_refuses_further_writes() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, EmbeddedOptions::default());
        faults.fail_syncs(Some(Error::Io("test".into())));
        writing(&store, "a").commit(Durability::Lazy).unwrap();
        let refused = (0..50).find_map(|_| {
            thread::sleep(Duration::from_millis(100));
            writing(&store, "b").commit(Durability::Lazy).err()
        });
        assert!(matches!(refused, Some(Error::StoreReadOnly(_))), "{refused:?}");
    }

    #[test]
    fn failed_reads_reach_the_reader_and_leave_no_locks() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, quiet());
        faults.fail_reads(Some(Error::Io("test".into())));
        assert_eq!(store.latest().get(b"a"), Err(Error::Io("test".into())));
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        let options = kv::LockOptions::exclusive(Duration::ZERO);
        assert!(txn.lock(&[b"a".to_vec()], &options).is_err());
        drop(txn);
        assert_eq!(store.lock_stats().held, 0);
    }

    #[test]
    fn a_bad_clock_disturbs_nobody() {
        for seed in 0..20 {
            let options = EmbeddedOptions {
                clock: Arc::new(crate::SeededClock::new(seed, 1_700_000_000_000)),
                gc_age: Duration::from_millis(100),
                ..quiet()
            };
            let store = faulty_memory_store(&Faults::new(), options);
            let mut last = 0;
            for n in 0..200 {
                let snapshot = store.snapshot_now().unwrap();
                let key = format!("k{}", n % 7);
                let before = snapshot.get(key.as_bytes()).unwrap();
                let commit_ts = writing(&store, &key).commit(Durability::Os).unwrap();
                assert!(last < snapshot.ts() && snapshot.ts() < commit_ts, "seed {seed}");
                last = commit_ts;
                store.run_gc().unwrap();
                assert_eq!(snapshot.get(key.as_bytes()).unwrap(), before, "seed {seed}");
                assert!(store.snapshot(commit_ts).is_ok(), "seed {seed}");
            }
        }
    }

    /// The oracle's promise under the hardest conditions: slow commits with readers in between.
    #[test]
    fn readers_do_not_wait_for_a_slow_commit() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, quiet());
        faults.delay_commits(Duration::from_secs(3));
        let writer = {
            let store = store.clone();
            thread::spawn(move || writing(&store, "slow").commit(Durability::Sync))
        };
        thread::sleep(Duration::from_millis(50));
        let snapshot = store.snapshot_now().unwrap();
        assert_eq!(snapshot.get(b"slow"), Ok(None));
        assert!(!writer.is_finished(), "waited");
        let commit_ts = writer.join().unwrap().unwrap();
        assert!(commit_ts > snapshot.ts());
        assert_eq!(snapshot.get(b"slow"), Ok(None), "the snapshot moved");
        assert!(store.snapshot_now().unwrap().get(b"slow").unwrap().is_some());
    }
}
