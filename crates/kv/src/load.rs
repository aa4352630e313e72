//! Bulk loads: many pairs of one range, written in the order of their keys.
//!
//! A load is for a range that no transaction and no snapshot reads before it has ended: the index entries or rows
//! of something that no definition names yet. It is no transaction. It has no write buffer, takes no locks and is
//! bounded by the disk only; its pairs replace what the range has under their keys. It can also remove keys, of which
//! nothing is left then.
//!
//! An engine with files ([`Engine::loads_by_file`]) writes pairs to sorted files beside its data and adds all of
//! them at one moment: after [`Load::finish`] all pairs are there, on disk, and after anything else none. Others
//! may write the range until `finish` is called, but not while it runs. On other engines a load writes ordinary
//! transactions of bounded size as it goes, as many at a time as there are writers: no other thread may write the
//! range at all, and after an error or a crash some of the pairs are there, so the caller destroys the range.
//!
//! ```
//! # fn main() -> kv::Result<()> {
//! # let store = kv::Store::memory();
//! let load = store.begin_load(&kv::KeyRange::prefix("new/"), None);
//! // Any number of writers, each for a part of the range, on any threads.
//! let mut writer = load.writer(kv::KeyRange::prefix("new/"));
//! for n in 0..1_000 {
//!     writer.put(format!("new/{n:04}").as_bytes(), b"value")?;
//! }
//! writer.close()?;
//! load.finish()?;
//! // Now a transaction may store what leads readers to the range.
//! # Ok(())
//! # }
//! ```
//!
//! **When the pairs were committed.** Before all transactions: nothing leads readers to them yet. A follower of
//! commits sees such a load by the commit that does (a table's definition with a new index, or with another place
//! of its rows): the caller commits that after `finish` has returned, and the follower reads the range as of that
//! commit.
//!
//! A load of a place that readers know already ([`Store::begin_load_at`](crate::Store::begin_load_at)) has the
//! timestamp of a commit of the caller's, by which followers learn of it. Snapshots before it see nothing of the
//! load. So none of its keys has a value, no other transaction may write the range from that commit on, and none
//! that has read it may live on over `finish`. (A deletion that a pair replaces needs no place in history: that has
//! until when the version before it was the newest.)

use crate::engine::{Durability, Engine};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::reader::KeyRange;
use crate::sorted_pairs::{SortedFile, SortedPairs};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::timestamp::Timestamp;
use crate::transaction::Transaction;
use crate::txn_options::TxnOptions;
use memory::{Account, Broker, Holder};
use std::sync::Arc;
use std::thread;

/// Bytes of pairs that a writer gathers for a file, if there is as much memory.
pub const FILE_BYTES: usize = 16 << 20;

/// Before everything else. Not 0, which stands for a version that is not there.
pub const BEFORE_ALL: Timestamp = 1;

/// Bytes of pairs in one transaction, where the engine has no files.
const BATCH_BYTES: usize = 1 << 20;

/// A file of a load with the keys it holds.
struct LoadedFile {
    first: Vec<u8>,
    last: Vec<u8>,
    file: SortedFile,
}

/// A bulk load; see the module. Dropped without [`Load::finish`], it leaves what the module says.
pub struct Load {
    engine: Arc<dyn Engine>,
    broker: &'static Broker,
    range: KeyRange,
    /// When the pairs were committed, if they lie in files.
    ts: Timestamp,
    interrupt: Option<Arc<Interrupt>>,
    files: Mutex<Vec<LoadedFile>>,
    /// Writers that have not been closed.
    open: AtomicUsize,
    pairs: AtomicU64,
}

impl Load {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        broker: &'static Broker,
        range: &KeyRange,
        ts: Timestamp,
        interrupt: Option<&Arc<Interrupt>>,
    ) -> Self {
        Self {
            engine,
            broker,
            range: range.clone(),
            ts,
            interrupt: interrupt.map(Arc::clone),
            files: Mutex::new(Vec::new()),
            open: AtomicUsize::new(0),
            pairs: AtomicU64::new(0),
        }
    }

    /// A writer for a part of the range that no other writer has.
    pub fn writer(&self, part: KeyRange) -> LoadWriter<'_> {
        self.open.fetch_add(1, Ordering::SeqCst);
        LoadWriter {
            load: self,
            part,
            last: Vec::new(),
            pairs: SortedPairs::default(),
            limit: match self.engine.loads_by_file() {
                true => FILE_BYTES,
                false => BATCH_BYTES,
            },
            memory: Account::new(self.broker, Holder::Transaction, usize::MAX),
            writing: FileThread::default(),
        }
    }

    /// Ends the load: after this, all pairs are in the store and on disk. Returns their number, keys that were
    /// removed included.
    ///
    /// # Errors
    /// [`Error::Internal`]: a writer was not closed, or two wrote the same part. [`Error::Interrupted`],
    /// [`Error::DiskFull`], and those of the engine. What is there afterwards: see the module; after
    /// [`Error::Undetermined`] the next start tells, and no writes are taken before it.
    pub fn finish(self) -> Result<u64> {
        if self.open.load(Ordering::SeqCst) > 0 {
            return Err(Error::Internal("a writer of a bulk load was not closed".into()));
        }
        if let Some(interrupt) = &self.interrupt {
            interrupt.check()?;
        }
        let mut files = std::mem::take(&mut *self.files.lock());
        files.sort_by(|a, b| a.first.cmp(&b.first));
        let overlap = |pair: &[LoadedFile]| matches!(pair, [a, b] if a.last >= b.first);
        if files.windows(2).any(overlap) {
            return Err(Error::Internal(
                "two writers of a bulk load wrote the same part".into(),
            ));
        }
        let pairs = self.pairs.load(Ordering::SeqCst);
        if !files.is_empty() {
            let files = files.into_iter().map(|loaded| loaded.file).collect();
            self.engine
                .ingest(&self.range, files, self.interrupt.as_deref())?;
        }
        Ok(pairs)
    }

    fn note(&self, pairs: &SortedPairs) {
        self.pairs.fetch_add(pairs.len() as u64, Ordering::Relaxed);
    }

    fn write_batch(&self, pairs: &SortedPairs) -> Result<()> {
        let options = TxnOptions {
            interrupt: self.interrupt.clone(),
            single_statement: true,
            ..TxnOptions::default()
        };
        let mut txn = Transaction::begin(Arc::clone(&self.engine), options, self.broker)?;
        for (key, value) in pairs.iter() {
            match value {
                Some(value) => txn.put(key.to_vec(), value.to_vec())?,
                None => txn.delete(key.to_vec())?,
            }
        }
        txn.commit(Durability::Sync)?;
        Ok(())
    }
}

/// Writes a part of a load's range, in the order of its keys.
pub struct LoadWriter<'a> {
    load: &'a Load,
    part: KeyRange,
    last: Vec<u8>,
    pairs: SortedPairs,
    /// Bytes that are gathered.
    limit: usize,
    memory: Account,
    /// A thread writes a file while the next pairs are gathered.
    writing: FileThread,
}

/// A thread that writes a file, if there is one. It is waited for: behind a load that has failed, nothing writes to its
/// files any more.
#[derive(Default)]
struct FileThread(Option<thread::JoinHandle<(SortedPairs, Result<SortedFile>)>>);

impl FileThread {
    fn wait(&mut self) -> Option<thread::Result<(SortedPairs, Result<SortedFile>)>> {
        self.0.take().map(thread::JoinHandle::join)
    }
}

impl Drop for FileThread {
    fn drop(&mut self) {
        drop(self.wait());
    }
}

fn out_of_order() -> Error {
    Error::Internal("a key of a bulk load is out of order".into())
}

impl LoadWriter<'_> {
    /// Adds a pair. Its key is above all that this writer has had.
    ///
    /// # Errors
    /// [`Error::Internal`] for a key out of order or outside the writer's part; [`Error::KeyTooLarge`],
    /// [`Error::ValueTooLarge`]; those of writing what has been gathered, [`Error::Interrupted`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.push(key, Some(value))
    }

    /// Removes a key, which is above all that this writer has had and need not be there.
    ///
    /// # Errors
    /// As [`LoadWriter::put`].
    pub fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.push(key, None)
    }

    fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let is_above = key > self.last.as_slice() || self.last.is_empty();
        if !is_above || !self.part.contains(key) {
            return Err(out_of_order());
        }
        let limits = self.load.engine.limits();
        limits.check_key(key)?;
        limits.check_value(value.unwrap_or_default())?;
        if self.pairs.bytes() + key.len() + value.map_or(0, <[u8]>::len) > self.limit {
            self.flush()?;
        }
        self.pairs.push(key, value);
        self.last.clear();
        self.last.extend_from_slice(key);
        // And as much in the file that is being written.
        let capacity = 2 * self.pairs.capacity();
        if capacity > self.memory.used_bytes() && self.memory.resize(capacity, None).is_err() {
            // There is no more memory: continue with what this has.
            self.limit = (self.pairs.bytes() / 2).max(BATCH_BYTES).min(self.limit);
            self.flush()?;
            self.wait_for_file()?;
            self.pairs = SortedPairs::default();
            self.memory.resize(0, None).map_err(|_| Error::OutOfMemory)?;
            self.memory.trim();
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let Some((first, last)) = self.pairs.ends() else {
            return Ok(());
        };
        if !self.load.range.contains(first) || !self.load.range.contains(last) {
            return Err(out_of_order());
        }
        if let Some(interrupt) = &self.load.interrupt {
            interrupt.check()?;
        }
        if !self.load.engine.loads_by_file() {
            self.load.write_batch(&self.pairs)?;
            self.load.note(&self.pairs);
            self.pairs.clear();
            return Ok(());
        }
        let before = self.wait_for_file()?;
        let pairs = std::mem::replace(&mut self.pairs, before);
        let (engine, ts) = (Arc::clone(&self.load.engine), self.load.ts);
        let write = move || {
            scheduling::background::begin();
            let file = engine.write_sorted_file(&pairs, ts);
            (pairs, file)
        };
        let thread = thread::Builder::new().name("bulk-load".to_owned()).spawn(write);
        let thread = thread.map_err(|error| Error::Io(format!("a thread: {error}")))?;
        self.writing = FileThread(Some(thread));
        Ok(())
    }

    /// Waits for the file that is being written, and returns the memory of its pairs.
    fn wait_for_file(&mut self) -> Result<SortedPairs> {
        let Some(written) = self.writing.wait() else {
            return Ok(SortedPairs::default());
        };
        let failed = |_| Error::Internal("a thread that writes a file of a bulk load has failed".into());
        let (mut pairs, file) = written.map_err(failed)?;
        let file = file?;
        if let Some((first, last)) = pairs.ends() {
            let (first, last) = (first.to_vec(), last.to_vec());
            self.load.files.lock().push(LoadedFile { first, last, file });
        }
        self.load.note(&pairs);
        pairs.clear();
        Ok(pairs)
    }

    /// Writes the last pairs.
    ///
    /// # Errors
    /// As [`LoadWriter::put`].
    pub fn close(mut self) -> Result<()> {
        self.flush()?;
        self.wait_for_file()?;
        self.load.open.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}
