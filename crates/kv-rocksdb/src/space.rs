//! Stopping before the disk is full, while the answer can still be a definite one.

use crate::machine::disk_space_bytes;
use kv::{Error, Result};
use std::path::{Path, PathBuf};

const RESERVE_BYTES_MAX: u64 = 256 << 20;

/// What is left of the reserve even by who may use it: RocksDB has its own small files to write.
const LAST_BYTES: u64 = 1 << 20;

/// Keeps some space free for what has been acknowledged and is still to be flushed and compacted.
pub(crate) struct FreeSpace {
    dir: PathBuf,
    reserve_bytes: u64,
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
        }
    }

    /// Refuses a write of `bytes` that would touch the reserve or, where it may be used, would leave nothing of it.
    pub fn check(&self, bytes: usize, use_reserve: bool) -> Result<()> {
        if self.reserve_bytes == 0 {
            return Ok(());
        }
        let kept = if use_reserve {
            LAST_BYTES.min(self.reserve_bytes)
        } else {
            self.reserve_bytes
        };
        let wanted = kept.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        match disk_space_bytes(&self.dir) {
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
