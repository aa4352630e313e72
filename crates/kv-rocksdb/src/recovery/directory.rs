//! The files of a store's directory, and the lock on it.

use super::manifest::Manifest;
use kv::{Error, Result};
use rustix::fs::{FlockOperation, fcntl_lock, flock};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A lock on a directory: no other process has it open, and this one only once.
///
/// RocksDB has a lock of its own, but takes it only when it starts to change things. A lock of that kind
/// (`fcntl`) is also released when its process closes the file anywhere, so nothing else can hold it on
/// behalf of RocksDB.
#[derive(Debug)]
pub struct DirectoryLock {
    _dir: File,
}

impl DirectoryLock {
    /// # Errors
    /// [`Error::Unavailable`]: another process, or this one, has it.
    pub fn take(dir: &Path) -> Result<Self> {
        let cannot = |error: io::Error| Error::Unavailable(format!("cannot open {}: {error}", dir.display()));
        let in_use = || Error::Unavailable(format!("another process is using {}", dir.display()));
        let file = File::open(dir).map_err(cannot)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(in_use()),
            // The file system has no such locks. RocksDB's own remains.
            Err(error) => tracing::debug!(dir = %dir.display(), %error, "cannot lock the directory"),
            Ok(()) => {}
        }
        // For a program that does not take the lock above. This one is released at once, when the file is
        // closed.
        match OpenOptions::new().read(true).write(true).open(dir.join("LOCK")) {
            Ok(lock) => match fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::ACCESS | rustix::io::Errno::AGAIN) => return Err(in_use()),
                Err(error) => tracing::debug!(dir = %dir.display(), %error, "cannot lock the directory"),
                Ok(()) => {}
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot(error)),
        }
        Ok(Self { _dir: file })
    }
}

/// The files, by the numbers in RocksDB's file names.
#[derive(Debug, Default)]
pub struct Directory {
    pub path: PathBuf,
    pub logs: BTreeMap<u64, PathBuf>,
    pub tables: BTreeMap<u64, PathBuf>,
    manifests: BTreeMap<u64, PathBuf>,
    has_current: bool,
}

/// The state of the manifest.
#[derive(Debug)]
pub enum Manifested {
    /// There is no store yet.
    New,
    Store(Manifest),
    Damaged(String),
}

impl Directory {
    pub fn list(path: &Path) -> io::Result<Self> {
        let mut directory = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let files = if name == "CURRENT" {
                directory.has_current = true;
                continue;
            } else if name.ends_with(".log") {
                &mut directory.logs
            } else if name.ends_with(".sst") {
                &mut directory.tables
            } else if name.starts_with("MANIFEST-") {
                &mut directory.manifests
            } else {
                continue;
            };
            let number = name.trim_end_matches(".log").trim_end_matches(".sst");
            if let Ok(number) = number.trim_start_matches("MANIFEST-").parse() {
                files.insert(number, entry.path());
            }
        }
        Ok(directory)
    }

    /// Reads the manifest that `CURRENT` names.
    pub fn manifest(&self) -> io::Result<Manifested> {
        if !self.has_current {
            // RocksDB writes the first manifest, then `CURRENT`, before anything else. A crash may come in
            // between.
            let is_new = self.logs.is_empty()
                && self.tables.is_empty()
                && self.manifests.keys().all(|number| *number <= 1);
            return Ok(match is_new {
                true => Manifested::New,
                false => Manifested::Damaged(
                    "the file CURRENT, which names the manifest, is missing, and other files of a store are there"
                        .to_owned(),
                ),
            });
        }
        let current = std::fs::read(self.path.join("CURRENT"))?;
        let name = String::from_utf8_lossy(&current);
        let number = name
            .strip_suffix('\n')
            .and_then(|name| name.strip_prefix("MANIFEST-"));
        let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else {
            return Ok(Manifested::Damaged(format!(
                "the file CURRENT does not name a manifest but '{}'",
                name.escape_debug()
            )));
        };
        let Some(path) = self.manifests.get(&number) else {
            return Ok(Manifested::Damaged(format!(
                "MANIFEST-{number:06}, which the file CURRENT names, is missing"
            )));
        };
        let bytes = std::fs::read(path)?;
        Ok(match Manifest::parse(&bytes) {
            Ok(manifest) => Manifested::Store(manifest),
            Err(what) => Manifested::Damaged(format!("MANIFEST-{number:06} is damaged, {what}")),
        })
    }

    /// `CURRENT`, and the manifest it names.
    pub fn current_files(&self) -> io::Result<[PathBuf; 2]> {
        let current = self.path.join("CURRENT");
        let name = std::fs::read_to_string(&current)?;
        Ok([current, self.path.join(name.trim_end())])
    }

    /// Messages about table files that the manifest names and that are missing or incomplete.
    pub fn missing_tables(&self, manifest: &Manifest) -> io::Result<Vec<String>> {
        let mut wrong = Vec::new();
        for (number, table) in manifest.tables() {
            let Some(path) = self.tables.get(&number) else {
                wrong.push(format!("the table file {number:06}.sst is missing"));
                continue;
            };
            let bytes = std::fs::metadata(path)?.len();
            if bytes != table.bytes {
                wrong.push(format!(
                    "the table file {number:06}.sst has {bytes} bytes, and had {}",
                    table.bytes
                ));
            }
        }
        Ok(wrong)
    }

    /// The logs with entries that may be in no table.
    pub fn logs_from(&self, first: u64) -> Vec<(u64, PathBuf)> {
        let logs = self.logs.range(first..);
        logs.map(|(number, path)| (*number, path.clone())).collect()
    }
}
