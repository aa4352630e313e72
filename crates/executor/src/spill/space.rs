//! Where a statement's temporary files are, and what they leave free there.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use types::{Error, Result};

use super::file::io_failed;

/// What stays free on the disk, for what else is written to it: this, or a tenth of a small disk.
const RESERVE_BYTES: u64 = 512 << 20;

/// How much a statement writes between two looks at what is free.
const CHECKED_BYTES: usize = 16 << 20;

/// How many files the process has made.
static FILES: AtomicU64 = AtomicU64::new(0);

/// `Created_tmp_files`: the files that statements have spilled rows to since the start of the process.
pub fn spill_files() -> u64 {
    FILES.load(Ordering::Relaxed)
}

/// Counts files that another executor has made.
pub fn count_spill_files(count: usize) {
    FILES.fetch_add(count as u64, Ordering::Relaxed);
}

/// The directory of a statement's temporary files.
pub struct SpillSpace<'a> {
    directory: &'a Path,
    /// What may be written, to all files together, before the next look at what is free.
    unchecked: Cell<usize>,
}

impl<'a> SpillSpace<'a> {
    /// Nothing has been written yet.
    pub fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            unchecked: Cell::new(0),
        }
    }

    /// A new file, which has no name.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn file(&self) -> Result<File> {
        let file = tempfile::tempfile_in(self.directory).map_err(|error| {
            Error::internal(format_args!(
                "cannot make a temporary file in {}: {error}",
                self.directory.display()
            ))
        })?;
        FILES.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    }

    /// Notes that so much is about to be written.
    ///
    /// # Errors
    /// 1021 if little is free.
    pub(super) fn take(&self, bytes: usize) -> Result<()> {
        let unchecked = match self.unchecked.get().checked_sub(bytes) {
            Some(left) => left,
            None => {
                self.check()?;
                CHECKED_BYTES.saturating_sub(bytes)
            }
        };
        self.unchecked.set(unchecked);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        // If the system does not say, writing will.
        let Ok(disk) = rustix::fs::statvfs(self.directory) else {
            return Ok(());
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let total = disk.f_blocks.saturating_mul(disk.f_frsize);
        match free < RESERVE_BYTES.min(total / 10) {
            true => Err(io_failed(&std::io::ErrorKind::StorageFull.into())),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_statement_count_together() {
        let directory = std::env::temp_dir();
        let space = SpillSpace::new(&directory);
        space.take(CHECKED_BYTES / 2).unwrap();
        assert_eq!(space.unchecked.get(), CHECKED_BYTES / 2);
        space.take(CHECKED_BYTES / 4).unwrap();
        assert_eq!(space.unchecked.get(), CHECKED_BYTES / 4);
        space.take(CHECKED_BYTES / 2).unwrap();
        assert_eq!(space.unchecked.get(), CHECKED_BYTES / 2);
    }
}
