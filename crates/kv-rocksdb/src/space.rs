//! Refusing commits before the disk is full, while a refusal can still be definite.

use crate::machine::disk_space_bytes;
use kv::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// If more than this is free beyond the reserve, a check is valid for [`CHECK_MS`] and for as many bytes as
/// are free beyond this: other processes that write to the disk do not fill it faster.
const PLENTY_BYTES: u64 = 256 << 20;
const CHECK_MS: u64 = 100;

const RESERVE_BYTES_MAX: u64 = 256 << 20;

/// The part of the reserve that no commit may use: RocksDB has small files of its own to write.
const LAST_BYTES: u64 = 1 << 20;

/// Keeps some disk space free, so that what has been acknowledged can still be flushed and compacted.
pub(crate) struct FreeSpace {
    dir: PathBuf,
    reserve_bytes: u64,
    opened: Instant,
    /// How long the last check is valid, in milliseconds since `opened`, and for how many more bytes.
    valid_until_ms: AtomicU64,
    valid_for_bytes: AtomicU64,
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
            valid_until_ms: AtomicU64::new(0),
            valid_for_bytes: AtomicU64::new(0),
        }
    }

    /// Whether the last check says that there is room for `bytes`. A system call for each commit would take
    /// longer than the rest of this check. For one thread at a time.
    fn fits_by_last_check(&self, bytes: u64, now_ms: u64) -> bool {
        let left = self.valid_for_bytes.load(Ordering::Relaxed).checked_sub(bytes);
        match left {
            Some(left) if now_ms < self.valid_until_ms.load(Ordering::Relaxed) => {
                self.valid_for_bytes.store(left, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    fn note_check(&self, free: u64, now_ms: u64) {
        let plenty = free
            .saturating_sub(self.reserve_bytes)
            .saturating_sub(PLENTY_BYTES);
        self.valid_for_bytes.store(plenty, Ordering::Relaxed);
        self.valid_until_ms.store(now_ms + CHECK_MS, Ordering::Relaxed);
    }

    /// Refuses a write of `bytes` that would use the reserve or, if `use_reserve`, all of it.
    pub fn check(&self, bytes: usize, use_reserve: bool) -> Result<()> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.fits_by_last_check(bytes, now_ms) {
            return Ok(());
        }
        let kept = if use_reserve {
            LAST_BYTES.min(self.reserve_bytes)
        } else {
            self.reserve_bytes
        };
        let space = disk_space_bytes(&self.dir);
        self.note_check(space.as_ref().map_or(0, |(free, _)| *free), now_ms);
        self.judge(space, kept.saturating_add(bytes))
    }

    /// [`FreeSpace::check`] that always reads the disk's free space, from any thread.
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
            // If the free space is unknown, the write itself will fail if there is none.
            _ => Ok(()),
        }
    }

    /// Whether commits are refused, or soon will be.
    pub fn is_short(&self) -> bool {
        let short = self.reserve_bytes.saturating_mul(2);
        disk_space_bytes(&self.dir).is_ok_and(|(free, _)| free < short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_valid_for_a_while_and_for_what_is_beyond_plenty() {
        let space = FreeSpace::new(Path::new("/"), Some(RESERVE_BYTES_MAX));
        assert!(!space.fits_by_last_check(1, 0), "before the first check");
        space.note_check(RESERVE_BYTES_MAX + PLENTY_BYTES + 10, 1_000);
        assert!(space.fits_by_last_check(6, 1_000));
        assert!(!space.fits_by_last_check(5, 1_000), "more than was left");
        assert!(space.fits_by_last_check(4, 1_000 + CHECK_MS - 1));
        space.note_check(RESERVE_BYTES_MAX + PLENTY_BYTES + 10, 2_000);
        assert!(!space.fits_by_last_check(1, 2_000 + CHECK_MS), "too long ago");
        space.note_check(RESERVE_BYTES_MAX + PLENTY_BYTES, 3_000);
        assert!(!space.fits_by_last_check(1, 3_000), "little is left");
    }
}
