//! Sorting more pairs than memory holds, for a bulk load ([`crate::load`]).
//!
//! A [`Sorter`] gathers pairs up to a limit, sorts them and writes them to a file without a name: a *run*. What
//! several sorters have gathered on several threads is merged by [`Merge`], which returns all pairs in the order of
//! their keys. What fits into the limit stays in memory. Many runs share a file, so that open files are few.

use crate::error::{Error, Result};
use crate::store::Store;
use memory::{Account, Holder, Share};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;

/// The least that a sorter gathers before it writes a run, if memory is short.
const RUN_BYTES_MIN: usize = 1 << 20;

/// Pairs that are merged between two looks at whether to go on.
const PAIRS_PER_CHECK: u64 = 1_024;

/// Pairs between two looks of a background thread at how much it gets of a processor.
const PAIRS_PER_LOOK: usize = 1_024;

/// The most runs that are merged at a time: each needs a buffer.
const RUNS_MERGED: usize = 128;

/// So many runs lie in a file. They are merged together, so their space is free as soon as they are.
const RUNS_PER_FILE: usize = RUNS_MERGED;
const READ_BYTES: usize = 128 << 10;
const WRITE_BYTES: usize = 256 << 10;

/// The part of the memory for large statements that all sorters of one work may have, and the most that they need.
const MEMORY_PART: usize = 8;
const MEMORY_MAX: usize = 256 << 20;

/// How many bytes all sorters of one work may have together.
pub fn sort_memory(store: &Store) -> usize {
    (store.budget().capacity(Share::Large) / MEMORY_PART).min(MEMORY_MAX)
}

/// Bytes of a key after what all keys have in common: they decide most comparisons.
type Prefix = u128;

fn prefix_of(key: &[u8], common: usize) -> Prefix {
    let rest = key.get(common..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return Prefix::from_be_bytes(*bytes);
    }
    let mut bytes = [0; size_of::<Prefix>()];
    for (to, from) in bytes.iter_mut().zip(rest) {
        *to = *from;
    }
    Prefix::from_be_bytes(bytes)
}

/// How many bytes two keys begin with in common, at most `limit`.
fn common_bytes(a: &[u8], b: &[u8], limit: usize) -> usize {
    let limit = limit.min(a.len()).min(b.len());
    // Nearly always.
    if a.get(..limit) == b.get(..limit) {
        return limit;
    }
    a.iter().zip(b).take(limit).take_while(|(a, b)| a == b).count()
}

/// A pair in a buffer, and where it is.
#[derive(Debug, Clone, Copy)]
struct Item {
    prefix: Prefix,
    at: usize,
    key: u32,
    value: u32,
}

/// Pairs in memory.
#[derive(Debug, Default)]
struct Gathered {
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// How many bytes all keys begin with in common.
    common: usize,
    is_sorted: bool,
}

impl Gathered {
    fn push(&mut self, key: &[u8], value: &[u8], tag: &[u8]) {
        self.is_sorted = false;
        let at = self.bytes.len();
        match self.items.first() {
            None => self.common = key.len(),
            Some(first) => {
                self.common = common_bytes(self.key(first), key, self.common);
            }
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(tag);
        self.items.push(Item {
            prefix: 0,
            at,
            key: key.len() as u32,
            value: (value.len() + tag.len()) as u32,
        });
    }

    fn key(&self, item: &Item) -> &[u8] {
        self.bytes
            .get(item.at..item.at + item.key as usize)
            .unwrap_or_default()
    }

    fn pair(&self, item: &Item) -> (&[u8], &[u8]) {
        let value = item.at + item.key as usize;
        let value = self.bytes.get(value..value + item.value as usize);
        (self.key(item), value.unwrap_or_default())
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    fn sort(&mut self) {
        if std::mem::replace(&mut self.is_sorted, true) {
            return;
        }
        let mut items = std::mem::take(&mut self.items);
        for item in &mut items {
            item.prefix = prefix_of(self.key(item), self.common);
        }
        items.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| self.key(a).cmp(self.key(b)))
                .then(a.at.cmp(&b.at))
        });
        self.items = items;
    }

    fn capacity(&self) -> usize {
        self.bytes.capacity() + self.items.capacity() * size_of::<Item>()
    }
}

/// Sorted pairs.
enum Run {
    /// Those that no thread has sorted yet are sorted when they are merged.
    Memory {
        gathered: Gathered,
        /// Counts their bytes.
        _memory: Account,
    },
    File {
        section: Section,
        /// What all keys begin with.
        common: Vec<u8>,
    },
}

/// A part of a file, which is read from its begin.
struct Section {
    file: Arc<File>,
    begin: u64,
    end: u64,
    /// The next byte to read.
    at: u64,
}

impl Section {
    fn bytes(&self) -> usize {
        usize::try_from(self.end - self.begin).unwrap_or(usize::MAX)
    }

    fn rewound(self) -> Self {
        Self {
            at: self.begin,
            ..self
        }
    }
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let length = rest.min(buffer.len());
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        let read = self.file.read_at(buffer, self.at)?;
        if read == 0 && length > 0 {
            // What is missing must not look like the end.
            return Err(io::Error::other("it is shorter than what was written"));
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// Appends to a file that has other runs, too.
struct Appending {
    file: Arc<File>,
    begin: u64,
    end: u64,
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.end)?;
        self.end += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file that the next run goes to.
#[derive(Default)]
struct RunFile {
    file: Option<Arc<File>>,
    runs: usize,
    end: u64,
}

impl RunFile {
    /// `bytes`: about so many will be written.
    fn begin_run(&mut self, store: &Store, bytes: usize) -> Result<RunWriter> {
        store.check_space(bytes)?;
        let file = match self.file.take().filter(|_| self.runs < RUNS_PER_FILE) {
            Some(file) => file,
            None => {
                (self.runs, self.end) = (0, 0);
                Arc::new(store.scratch_file()?)
            }
        };
        self.file = Some(Arc::clone(&file));
        self.runs += 1;
        Ok(RunWriter::new(file, self.end))
    }

    fn write_run(&mut self, store: &Store, gathered: &mut Gathered) -> Result<Run> {
        gathered.sort();
        let mut writer = self.begin_run(store, gathered.bytes.len())?;
        for (number, item) in gathered.items.iter().enumerate() {
            if number % PAIRS_PER_LOOK == 0 {
                scheduling::background::look();
            }
            let (key, value) = gathered.pair(item);
            writer.push(key, value)?;
        }
        self.end_run(writer)
    }

    fn end_run(&mut self, writer: RunWriter) -> Result<Run> {
        let run = writer.finish()?;
        if let Run::File { section, .. } = &run {
            self.end = section.end;
        }
        Ok(run)
    }
}

impl Run {
    fn bytes(&self) -> usize {
        match self {
            Self::Memory { gathered, .. } => gathered.bytes.len(),
            Self::File { section, .. } => section.bytes(),
        }
    }

    /// What all keys begin with.
    fn common(&self) -> &[u8] {
        match self {
            Self::Memory { gathered, .. } => {
                let first = gathered.items.first().map(|item| gathered.key(item));
                first
                    .and_then(|key| key.get(..gathered.common))
                    .unwrap_or_default()
            }
            Self::File { common, .. } => common,
        }
    }
}

/// Gathers pairs in any order.
pub struct Sorter {
    store: Store,
    limit: usize,
    gathered: Gathered,
    memory: Account,
    runs: Vec<Run>,
    file: RunFile,
    is_beside: bool,
    /// A thread sorts and writes a run while the next pairs are gathered.
    writing: Option<thread::JoinHandle<Written>>,
}

struct Written {
    run: Result<Run>,
    /// Empty, to be filled again.
    gathered: Gathered,
    file: RunFile,
}

impl Sorter {
    /// With files beside those of `store`, and at most about `limit` bytes in memory.
    pub fn new(store: &Store, limit: usize) -> Self {
        Self {
            store: store.clone(),
            limit: limit.max(RUN_BYTES_MIN),
            gathered: Gathered::default(),
            memory: Account::new(store.budget(), Holder::Transaction, usize::MAX),
            runs: Vec::new(),
            file: RunFile::default(),
            is_beside: false,
            writing: None,
        }
    }

    /// One whose caller has something else to do: a thread of its own sorts a half of what is in memory while the
    /// caller fills the other, and what is left at the end is sorted by the thread that merges it.
    pub fn beside(store: &Store, limit: usize) -> Self {
        Self {
            is_beside: true,
            ..Self::new(store, limit / 2)
        }
    }

    /// Adds a pair.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], [`Error::OutOfMemory`].
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.push_tagged(key, value, &[])
    }

    /// Adds a pair whose value is put together from two.
    ///
    /// # Errors
    /// As [`Sorter::push`].
    pub fn push_tagged(&mut self, key: &[u8], value: &[u8], tag: &[u8]) -> Result<()> {
        let items = self.gathered.items.len() * size_of::<Item>();
        let used = self.gathered.bytes.len() + items + key.len() + value.len() + tag.len();
        if used > self.limit && items > 0 {
            self.write_run()?;
        }
        self.gathered.push(key, value, tag);
        // And as much in the run that is being written.
        let capacity = self.gathered.capacity() * (1 + usize::from(self.is_beside));
        if capacity > self.memory.used_bytes() && self.memory.resize(capacity, None).is_err() {
            // There is no more memory: continue with what this has.
            if used < RUN_BYTES_MIN {
                return Err(Error::OutOfMemory);
            }
            self.write_run()?;
            self.wait_for_run()?;
            self.limit = (used / 2).max(RUN_BYTES_MIN);
            self.gathered = Gathered::default();
            self.memory.resize(0, None).map_err(|_| Error::OutOfMemory)?;
            self.memory.trim();
        }
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        let empty = self.wait_for_run()?;
        let mut gathered = std::mem::replace(&mut self.gathered, empty);
        let (store, mut file) = (self.store.clone(), std::mem::take(&mut self.file));
        let write = move || {
            let run = file.write_run(&store, &mut gathered);
            gathered.clear();
            Written { run, gathered, file }
        };
        if self.is_beside {
            let write = || {
                scheduling::background::begin();
                write()
            };
            let thread = thread::Builder::new().name("sort".to_owned()).spawn(write);
            self.writing = Some(thread.map_err(|error| Error::Io(format!("a thread: {error}")))?);
        } else {
            self.gathered = self.take(write())?;
        }
        Ok(())
    }

    /// Waits for the run that is being written, and returns its memory.
    fn wait_for_run(&mut self) -> Result<Gathered> {
        let Some(writing) = self.writing.take() else {
            return Ok(Gathered::default());
        };
        let failed = |_| Error::Internal("a thread that sorts has failed".into());
        let written = writing.join().map_err(failed)?;
        self.take(written)
    }

    fn take(&mut self, written: Written) -> Result<Gathered> {
        self.file = written.file;
        self.runs.push(written.run?);
        Ok(written.gathered)
    }

    /// All that has been gathered.
    ///
    /// # Errors
    /// Those of writing runs.
    pub fn finish(mut self) -> Result<Runs> {
        self.wait_for_run()?;
        if !self.is_beside {
            self.gathered.sort();
        }
        if !self.gathered.items.is_empty() {
            self.runs.push(Run::Memory {
                gathered: self.gathered,
                _memory: self.memory,
            });
        }
        Ok(Runs {
            store: self.store,
            runs: self.runs,
        })
    }
}

/// What sorters have gathered.
pub struct Runs {
    store: Store,
    runs: Vec<Run>,
}

impl Runs {
    /// Adds what another sorter has gathered.
    pub fn append(&mut self, mut other: Self) {
        self.runs.append(&mut other.runs);
    }

    /// Merges all of it. `check` is called at intervals, and ends the work by an error.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::Io`], those of `check`.
    pub fn merge(mut self, check: &dyn Fn() -> Result<()>) -> Result<Merge> {
        // The longer runs that this makes are fewer by far, and live as long as each other.
        let mut file = RunFile::default();
        while self.runs.len() > RUNS_MERGED {
            let some: Vec<_> = self.runs.drain(..RUNS_MERGED).collect();
            let bytes = some.iter().map(Run::bytes).fold(0, usize::saturating_add);
            let mut merge = Merge::of(self.store.clone(), some)?;
            let mut writer = file.begin_run(&self.store, bytes)?;
            let mut pairs = 0_u64;
            while let Some((key, value)) = merge.next()? {
                writer.push(key, value)?;
                pairs += 1;
                if pairs.is_multiple_of(PAIRS_PER_CHECK) {
                    check()?;
                }
            }
            self.runs.push(file.end_run(writer)?);
        }
        Merge::of(self.store, self.runs)
    }
}

fn failed(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull(error.to_string()),
        _ => Error::Io(format!("a file of a sort: {error}")),
    }
}

/// Writes pairs to a file: the lengths of key and value, 4 bytes each, then both.
struct RunWriter {
    file: BufWriter<Appending>,
    common: Option<Vec<u8>>,
}

impl RunWriter {
    fn new(file: Arc<File>, begin: u64) -> Self {
        let end = begin;
        Self {
            file: BufWriter::with_capacity(WRITE_BYTES, Appending { file, begin, end }),
            common: None,
        }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        match &mut self.common {
            Some(common) => common.truncate(common_bytes(common, key, common.len())),
            None => self.common = Some(key.to_vec()),
        }
        let mut lengths = [0; 8];
        let (of_key, of_value) = lengths.split_at_mut(4);
        of_key.copy_from_slice(&(key.len() as u32).to_le_bytes());
        of_value.copy_from_slice(&(value.len() as u32).to_le_bytes());
        let parts = [lengths.as_slice(), key, value];
        parts
            .iter()
            .try_for_each(|part| self.file.write_all(part))
            .map_err(|error| failed(&error))
    }

    fn finish(self) -> Result<Run> {
        let Appending { file, begin, end } = self.file.into_inner().map_err(|error| failed(error.error()))?;
        let common = self.common.unwrap_or_default();
        let section = Section {
            file,
            begin,
            end,
            at: begin,
        };
        Ok(Run::File { section, common })
    }
}

/// A run that is being read, at its current pair.
enum Cursor {
    Memory {
        gathered: Gathered,
        next: usize,
        _memory: Account,
    },
    File {
        reader: BufReader<Section>,
        pair: Vec<u8>,
        key: usize,
        /// What all keys begin with.
        common: Vec<u8>,
    },
}

impl Cursor {
    fn new(run: Run) -> Self {
        match run {
            Run::Memory {
                mut gathered,
                _memory,
            } => {
                gathered.sort();
                Self::Memory {
                    gathered,
                    next: 0,
                    _memory,
                }
            }
            Run::File { section, common } => Self::File {
                reader: BufReader::with_capacity(READ_BYTES, section),
                pair: Vec::new(),
                key: 0,
                common,
            },
        }
    }

    /// The run, from its begin.
    fn into_run(self) -> Run {
        match self {
            Self::Memory {
                gathered, _memory, ..
            } => Run::Memory { gathered, _memory },
            Self::File { reader, common, .. } => Run::File {
                section: reader.into_inner().rewound(),
                common,
            },
        }
    }

    /// Goes to the next pair; false at the end.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::Memory { gathered, next, .. } => {
                *next += 1;
                Ok(*next <= gathered.items.len())
            }
            Self::File {
                reader, pair, key, ..
            } => {
                let mut lengths = [0; 8];
                match reader.read_exact(&mut lengths) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                    read => read.map_err(|error| failed(&error))?,
                }
                let length = |at: usize| {
                    let bytes = lengths.get(at..).and_then(<[u8]>::first_chunk::<4>);
                    u32::from_le_bytes(bytes.copied().unwrap_or_default()) as usize
                };
                *key = length(0);
                let both = key.saturating_add(length(4));
                if both > reader.get_ref().bytes() {
                    return Err(Error::Io("a file of a sort is damaged".to_owned()));
                }
                pair.resize(both, 0);
                reader.read_exact(pair).map_err(|error| failed(&error))?;
                Ok(true)
            }
        }
    }

    fn pair(&self) -> (&[u8], &[u8]) {
        match self {
            Self::Memory { gathered, next, .. } => {
                let item = next.checked_sub(1).and_then(|at| gathered.items.get(at));
                item.map_or((&[], &[]), |item| gathered.pair(item))
            }
            Self::File { pair, key, .. } => pair.split_at_checked(*key).unwrap_or_default(),
        }
    }
}

/// A cursor, by its position, with the prefix of its key.
#[derive(Debug, Clone, Copy)]
struct Place {
    prefix: Prefix,
    cursor: usize,
}

/// All pairs of some runs, in the order of their keys.
pub struct Merge {
    store: Store,
    cursors: Vec<Cursor>,
    /// A heap of cursors' places: each one's pair is not above those of its two children.
    heap: Vec<Place>,
    /// How many bytes all keys begin with in common.
    common: usize,
    /// The first cursor's pair has been returned.
    is_used: bool,
}

impl Merge {
    fn of(store: Store, runs: Vec<Run>) -> Result<Self> {
        let mut all_begin_with: Option<Vec<u8>> = None;
        for run in &runs {
            let common = run.common();
            match &mut all_begin_with {
                Some(all) => all.truncate(common_bytes(all, common, all.len())),
                None => all_begin_with = Some(common.to_vec()),
            }
        }
        let common = all_begin_with.map_or(0, |all| all.len());
        let mut cursors: Vec<_> = runs.into_iter().map(Cursor::new).collect();
        let mut heap = Vec::with_capacity(cursors.len());
        for (at, cursor) in cursors.iter_mut().enumerate() {
            if cursor.advance()? {
                heap.push(Place {
                    prefix: prefix_of(cursor.pair().0, common),
                    cursor: at,
                });
            }
        }
        let mut merge = Self {
            store,
            cursors,
            heap,
            common,
            is_used: false,
        };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    /// The runs, to be merged once more.
    pub fn into_runs(self) -> Runs {
        Runs {
            runs: self.cursors.into_iter().map(Cursor::into_run).collect(),
            store: self.store,
        }
    }

    fn is_before(&self, a: Place, b: Place) -> bool {
        let key = |place: Place| self.cursors.get(place.cursor).map(|cursor| cursor.pair().0);
        a.prefix
            .cmp(&b.prefix)
            .then_with(|| key(a).cmp(&key(b)))
            .then(a.cursor.cmp(&b.cursor))
            .is_lt()
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if let (Some(&other), Some(&so_far)) = (self.heap.get(child), self.heap.get(least))
                    && self.is_before(other, so_far)
                {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// The next pair; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`].
    #[expect(clippy::should_implement_trait, reason = "it lends what it returns")]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if std::mem::replace(&mut self.is_used, true)
            && let Some(first) = self.heap.first_mut()
        {
            let mut more = false;
            if let Some(cursor) = self.cursors.get_mut(first.cursor) {
                more = cursor.advance()?;
                first.prefix = prefix_of(cursor.pair().0, self.common);
            }
            if !more {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
        }
        let first = self.heap.first().and_then(|first| self.cursors.get(first.cursor));
        Ok(first.map(Cursor::pair))
    }
}

// The path is written out because the crate of models includes this file from elsewhere.
#[path = "sorter/tests.rs"]
#[cfg(test)]
mod tests;
