//! Stopping before the disk is full, while the answer can still be a definite one.

use crate::machine::disk_space_bytes;
use kv::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// With more than that beyond the reserve, a look is good for [`LOOK_MS`] and for as many bytes as it leaves beyond this:
/// others, who write to the same disk meanwhile, fill it no faster.
const PLENTY_BYTES: u64 = 256 << 20;
const LOOK_MS: u64 = 100;

const RESERVE_BYTES_MAX: u64 = 256 << 20;

/// What is left of the reserve even by who may use it: RocksDB has its own small files to write.
const LAST_BYTES: u64 = 1 << 20;

/// Keeps some space free for what has been acknowledged and is still to be flushed and compacted.
pub(crate) struct FreeSpace {
    dir: PathBuf,
    reserve_bytes: u64,
    opened: Instant,
    /// Until when the last look is good, in milliseconds since `opened`, and for how many bytes from now on.
    good_until_ms: AtomicU64,
    good_for_bytes: AtomicU64,
}

impl FreeSpace {
    pub fn new(dir: &Path, reserve_bytes: Option<u64>) -> Self {
        let reserve_bytes = reserve_bytes.unwrap_or_else(|| {
            let total = disk_space_bytes(dir).map_or(0, |(_, total)| total);
            RESERVE_BYTES_MAX.min(total / 20)
        });
        Self {
            dir: dir.to_owned(),
            reserve_bytes,
            opened: Instant::now(),
            good_until_ms: AtomicU64::new(0),
            good_for_bytes: AtomicU64::new(0),
        }
    }

    /// Whether the last look is enough to know that there is room for `bytes`; a system call for each commit would take
    /// longer than the rest of its bookkeeping. For one thread at a time.
    fn is_known_to_fit(&self, bytes: u64, now_ms: u64) -> bool {
        let left = self.good_for_bytes.load(Ordering::Relaxed).checked_sub(bytes);
        match left {
            Some(left) if now_ms < self.good_until_ms.load(Ordering::Relaxed) => {
                self.good_for_bytes.store(left, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    fn note_look(&self, free: u64, now_ms: u64) {
        let plenty = free
            .saturating_sub(self.reserve_bytes)
            .saturating_sub(PLENTY_BYTES);
        self.good_for_bytes.store(plenty, Ordering::Relaxed);
        self.good_until_ms.store(now_ms + LOOK_MS, Ordering::Relaxed);
    }

    /// Refuses a write of `bytes` that would touch the reserve or, where it may be used, would leave nothing of it.
    pub fn check(&self, bytes: usize, use_reserve: bool) -> Result<()> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.is_known_to_fit(bytes, now_ms) {
            return Ok(());
        }
        let kept = if use_reserve {
            LAST_BYTES.min(self.reserve_bytes)
        } else {
            self.reserve_bytes
        };
        let space = disk_space_bytes(&self.dir);
        self.note_look(space.as_ref().map_or(0, |(free, _)| *free), now_ms);
        self.judge(space, kept.saturating_add(bytes))
    }

    /// [`FreeSpace::check`] by a look at the disk, from any thread.
    pub fn check_now(&self, bytes: usize) -> Result<()> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let wanted = self.reserve_bytes.saturating_add(bytes);
        self.judge(disk_space_bytes(&self.dir), wanted)
    }

    fn judge(&self, space: std::io::Result<(u64, u64)>, wanted: u64) -> Result<()> {
        match space {
            Ok((free, _)) if free < wanted => Err(Error::DiskFull(format!(
                "{}: {} MiB free, {} MiB are kept in reserve",
                self.dir.display(),
                free >> 20,
                self.reserve_bytes >> 20
            ))),
            // Who cannot tell does not stand in the way; the write itself will say.
            _ => Ok(()),
        }
    }

    /// Whether writes are refused, or soon will be.
    pub fn is_short(&self) -> bool {
        let short = self.reserve_bytes.saturating_mul(2);
        disk_space_bytes(&self.dir).is_ok_and(|(free, _)| free < short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_good_for_a_while_and_for_what_is_beyond_plenty() {
        let space = FreeSpace::new(Path::new("/"), Some(RESERVE_BYTES_MAX));
        assert!(!space.is_known_to_fit(1, 0), "before the first look");
        space.note_look(RESERVE_BYTES_MAX + PLENTY_BYTES + 10, 1_000);
        assert!(space.is_known_to_fit(6, 1_000));
        assert!(!space.is_known_to_fit(5, 1_000), "more than was left");
        assert!(space.is_known_to_fit(4, 1_000 + LOOK_MS - 1));
        space.note_look(RESERVE_BYTES_MAX + PLENTY_BYTES + 10, 2_000);
        assert!(!space.is_known_to_fit(1, 2_000 + LOOK_MS), "too long ago");
        space.note_look(RESERVE_BYTES_MAX + PLENTY_BYTES, 3_000);
        assert!(!space.is_known_to_fit(1, 3_000), "little is left");
    }
}
