//! Zeros after the end of the log, written before its records are.
//!
//! What a sync costs depends on where the log is written. Bytes that extend the file, or that fill blocks
//! which were only reserved, change the file's metadata, and the file system commits its own journal with
//! every sync: another write, and another flush of the disk. Bytes that overwrite others do not. RocksDB
//! overwrites old logs (`RocksOptions::recycled_log_files`), but the logs of a process that has started or
//! grown recently are new. So zeros are written after the end of a new log, some at a time. RocksDB
//! overwrites them, and takes the remaining ones for the end of the log when it recovers
//! (`tests/torn_log.rs`).
//!
//! Zeros are only written after the file's end, and only while nothing else writes to the log: all writes go
//! through [`Preallocation::write`]. RocksDB may start another log meanwhile. The old one is complete then,
//! and RocksDB truncates it where its records end.

use parking_lot::Mutex;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Zeros written at a time, for which the next sync takes longer.
const STEP_BYTES: u64 = 512 << 10;
/// Bytes of records before the first zeros: a store that is hardly written to needs none.
const FIRST_BYTES: u64 = 64 << 10;
/// A record of this size takes long to write in any case, and would use up most of the zeros.
const LARGE_BYTES: u64 = STEP_BYTES / 2;
/// RocksDB's header of a record in the log: one for each block that the record is in.
const RECORD_BYTES: u64 = 11;
const BLOCK_BYTES: u64 = 32 << 10;

/// The zeros after the end of a store's log. Lets one writer through at a time.
pub(super) struct Preallocation {
    dir: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The log that was the newest at the last check; 0: there was none.
    number: u64,
    /// Bytes between the end of its records and the end of the file, at the last check.
    room: u64,
    /// Bytes of records written since.
    written: u64,
    /// After how many bytes to check again. RocksDB may have started a new log by then.
    check_after: u64,
}

impl Preallocation {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            state: Mutex::new(State {
                number: 0,
                room: 0,
                written: 0,
                check_after: FIRST_BYTES,
            }),
        }
    }

    /// Runs `write`, which adds a record of `bytes` to the log. Writes zeros before it if they are running
    /// out.
    pub fn write<T>(&self, bytes: usize, write: impl FnOnce() -> T) -> T {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let mut state = self.state.lock();
        if state.written >= state.check_after
            && bytes < LARGE_BYTES
            && let Err(error) = state.extend(&self.dir)
        {
            // Without zeros, syncs take longer, and that is all.
            tracing::debug!(dir = %self.dir.display(), %error, "cannot preallocate the log");
        }
        let headers = (bytes / BLOCK_BYTES + 1) * RECORD_BYTES;
        state.written = state.written.saturating_add(bytes).saturating_add(headers);
        write()
    }
}

impl State {
    /// Writes zeros after the newest log if fewer than [`STEP_BYTES`] are left.
    fn extend(&mut self, dir: &Path) -> io::Result<()> {
        let written = std::mem::take(&mut self.written);
        // Before the zeros are used up, so that no record smaller than a large one extends the file.
        self.check_after = STEP_BYTES / 2;
        let Some((number, path)) = newest_log(dir)? else {
            return Ok(());
        };
        let file = OpenOptions::new().write(true).open(path)?;
        let end = file.metadata()?.len();
        // A log that did not exist at the last check has no more records than have been written since. If the
        // file is longer, it is an old log that is being overwritten.
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

/// The log that RocksDB writes to: the one with the highest number.
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
