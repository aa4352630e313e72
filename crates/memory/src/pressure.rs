//! The process' resident memory, compared with its limit.
//!
//! Much of what is counted is estimated, and an allocator holds freed memory for a while. So before a large
//! amount is granted, the resident memory is checked. If there is no room, the allocator returns unused
//! memory to the system.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How to read the process' resident memory, and how to make its allocator return memory.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    /// The resident memory in bytes; `None`: unknown.
    pub resident_bytes: fn() -> Option<usize>,
    /// Makes the allocator return unused memory to the system. Takes milliseconds.
    pub purge: fn(),
}

impl Process {
    /// Reads `/proc`, with an allocator that cannot be purged.
    pub fn plain() -> Self {
        Self {
            resident_bytes,
            purge: || (),
        }
    }
}

fn resident_bytes() -> Option<usize> {
    // `statm` counts pages, whose size std does not provide; the lines of `status` are in KiB.
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

/// A purge so soon after the last one would find little.
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

    /// Whether the process may grow by `bytes`.
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
