//! What the process really has, beside what its parts say.
//!
//! Much is estimated, and an allocator keeps what was freed for a while. So before a large amount is given out, the
//! process' resident memory is looked at; if there is no room for it, the allocator gives back what nobody uses.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How the process is looked at, and its allocator told to give back memory.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    /// Bytes of memory the process has; `None`: unknown.
    pub resident_bytes: fn() -> Option<usize>,
    /// Has the allocator give back what nobody uses. Takes milliseconds.
    pub purge: fn(),
}

impl Process {
    /// As Linux tells, with an allocator that cannot be told anything.
    pub fn plain() -> Self {
        Self {
            resident_bytes,
            purge: || (),
        }
    }
}

fn resident_bytes() -> Option<usize> {
    // statm has pages, whose size std does not know; the lines of status are in KiB.
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

pub(crate) struct Pressure {
    process: Process,
    limit: usize,
    purged: Mutex<Option<Instant>>,
    pub purges: AtomicU64,
}

/// Purging again sooner finds little.
const PURGES_APART: Duration = Duration::from_millis(50);

impl Pressure {
    pub fn new(process: Process, limit: usize) -> Self {
        Self {
            process,
            limit,
            purged: Mutex::new(None),
            purges: AtomicU64::new(0),
        }
    }

    /// Whether the process may grow by so much.
    pub fn has_room(&self, bytes: usize) -> bool {
        if self.fits(bytes) {
            return true;
        }
        let mut purged = self.purged.lock();
        if purged.is_none_or(|at| at.elapsed() >= PURGES_APART) {
            (self.process.purge)();
            self.purges.fetch_add(1, Ordering::Relaxed);
            *purged = Some(Instant::now());
        }
        drop(purged);
        self.fits(bytes)
    }

    fn fits(&self, bytes: usize) -> bool {
        (self.process.resident_bytes)().is_none_or(|resident| resident.saturating_add(bytes) <= self.limit)
    }

    pub fn resident_bytes(&self) -> usize {
        (self.process.resident_bytes)().unwrap_or(0)
    }
}
