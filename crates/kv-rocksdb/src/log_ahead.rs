//! Written blocks ahead of the log's end.
//!
//! What a sync costs depends on where the log is written. Bytes that make the file longer, or fill blocks that were only
//! reserved, change what the file system knows of the file, and it commits its own journal with every sync: another
//! write, and another flush of the disk. Bytes that replace others do not. RocksDB writes over old logs
//! (`RocksOptions::recycled_log_files`), but those of a process that has started or grown not long ago are new. So
//! zeros are written ahead of the end of a new log, a step at a time; RocksDB writes over them, and takes those that are
//! left for the end of the log when it recovers (`tests/torn_log.rs`).
//!
//! Zeros only go behind a file's end, and only while nobody writes to the log: whoever does, does it within
//! [`LogAhead::write`]. RocksDB may start another log meanwhile; the old one is at rest then, and RocksDB cuts it off
//! where its records end.

use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Written ahead at once: what the sync behind it takes longer for.
const STEP_BYTES: u64 = 512 << 10;
/// What is written to a store before its first look at the log: one that is hardly written to is spared the step.
const FIRST_BYTES: u64 = 64 << 10;
/// A record from here on takes its time anyway, and most of what is ahead of it.
const LARGE_BYTES: u64 = STEP_BYTES / 2;
/// RocksDB's header of a record in the log, one for each block of it.
const RECORD_BYTES: u64 = 11;
const BLOCK_BYTES: u64 = 32 << 10;

/// The log of the store in a directory, for one writer at a time.
pub(crate) struct LogAhead {
    dir: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The log at the last look; 0: there was none.
    number: u64,
    /// Bytes between its records' end and the file's end at that time.
    room: u64,
    /// Bytes of records since.
    written: u64,
    /// When to look again: a log that RocksDB has started since may be a new one.
    look_after: u64,
}

impl LogAhead {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            state: Mutex::new(State {
                number: 0,
                room: 0,
                written: 0,
                look_after: FIRST_BYTES,
            }),
        }
    }

    /// Has `write` add a record of `bytes` to the log.
    pub fn write<T>(&self, bytes: usize, write: impl FnOnce() -> T) -> T {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let mut state = self.state.lock();
        if state.written >= state.look_after
            && bytes < LARGE_BYTES
            && let Err(error) = state.look(&self.dir)
        {
            // Syncs take longer then, no more.
            tracing::debug!(dir = %self.dir.display(), %error, "cannot write ahead of the log");
        }
        let headers = (bytes / BLOCK_BYTES + 1) * RECORD_BYTES;
        state.written = state.written.saturating_add(bytes).saturating_add(headers);
        write()
    }
}

impl State {
    /// Writes ahead where that has not been done for the next step.
    fn look(&mut self, dir: &Path) -> io::Result<()> {
        let written = std::mem::take(&mut self.written);
        // Before what is there is used up: no record shorter than a large one has to make the file longer.
        self.look_after = STEP_BYTES / 2;
        let Some((number, path)) = newest_log(dir)? else {
            return Ok(());
        };
        let file = OpenOptions::new().write(true).open(path)?;
        let end = file.metadata()?.len();
        // A log that was not there at the last look has no more records than have been written since: if it is longer,
        // it is an old one that is written over.
        let room = if number == self.number { self.room } else { end };
        self.number = number;
        self.room = room.saturating_sub(written);
        if self.room < STEP_BYTES {
            file.write_all_at(&vec![0; STEP_BYTES as usize], end)?;
            self.room += STEP_BYTES;
        }
        Ok(())
    }
}

/// The log that RocksDB writes to: logs are numbered in their order.
fn newest_log(dir: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    let mut newest = None;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = Path::new(&name);
        if name.extension() != Some(OsStr::new("log")) {
            continue;
        }
        let number = name.file_stem().and_then(OsStr::to_str);
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            newest = newest.max(Some((number, dir.join(name))));
        }
    }
    Ok(newest)
}
