//! Files of bulk loads ([`kv::load`]), until they become part of `latest`.
//!
//! They lie in a directory beside RocksDB's files, on the same file system, so that RocksDB takes them over by
//! name. What a process that has ended leaves there belongs to loads that have not ended, and a start removes it.
//!
//! All pairs of a load have one timestamp, which the load says.

use crate::failure::from_rocksdb;
use crate::layout::{Version, push_version};
use kv::{Error, Result, SortedFile, SortedPairs, Timestamp};
use rocksdb::{Options, SstFileWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// In the store's directory.
const DIRECTORY: &str = "load";

/// Pairs between two looks of a background thread at how much it gets of a processor.
const PAIRS_PER_LOOK: usize = 1_024;

/// Where files of loads are written.
pub(crate) struct SortedFiles {
    dir: PathBuf,
    /// Those of `latest`.
    options: Options,
    next: AtomicU64,
}

impl SortedFiles {
    /// For the store in `dir`.
    pub fn new(dir: &Path, options: Options) -> Self {
        let dir = dir.join(DIRECTORY);
        if let Err(error) = std::fs::remove_dir_all(&dir)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(dir = %dir.display(), %error, "files of unfinished bulk loads cannot be removed");
        }
        Self {
            dir,
            options,
            next: AtomicU64::new(0),
        }
    }

    fn create_directory(&self) -> Result<()> {
        std::fs::create_dir_all(&self.dir)
            .map_err(|error| Error::Io(format!("cannot create {}: {error}", self.dir.display())))
    }

    /// An empty file without a name.
    pub fn scratch(&self) -> Result<std::fs::File> {
        self.create_directory()?;
        tempfile::tempfile_in(&self.dir)
            .map_err(|error| Error::Io(format!("a temporary file in {}: {error}", self.dir.display())))
    }

    /// Writes and syncs a file.
    pub fn write(&self, pairs: &SortedPairs, ts: Timestamp) -> Result<SortedFile> {
        self.create_directory()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let file = SortedFile::new(self.dir.join(format!("{number:06}.sst")));
        self.fill(&file, pairs, ts)
            .map_err(|error| from_rocksdb(&error))?;
        Ok(file)
    }

    fn fill(
        &self,
        file: &SortedFile,
        pairs: &SortedPairs,
        ts: Timestamp,
    ) -> std::result::Result<(), rocksdb::Error> {
        let mut writer = SstFileWriter::create(&self.options);
        writer.open(file.path())?;
        let mut stored = Vec::new();
        for (number, (key, value)) in pairs.iter().enumerate() {
            if number % PAIRS_PER_LOOK == 0 {
                scheduling::background::look();
            }
            // A load is for what no snapshot reads: of a removed key, no version is needed.
            if value.is_none() {
                writer.delete(key)?;
                continue;
            }
            stored.clear();
            push_version(&mut stored, Version { ts, value });
            writer.put(key, &stored)?;
        }
        writer.finish()
    }
}
