//! The file `SYNCED`: how far the log has been synced. One small record, written after each sync and not
//! synced itself.
//!
//! A log does not say where it ended: whether its last record was torn by a crash or was complete once cannot
//! be seen from it. This file says it. It never says more than what has been on the disk, because it is
//! written later. After a crash of the process it is exact; after one of the machine it may be some seconds
//! old.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `stemsync` |
//! | 8 | number of the log that the process started with |
//! | 8 | entries up to this sequence number are in tables |
//! | 8 | entries up to this one have been synced |
//! | 8 | 1: nothing has been written after that, as when the store was closed in order |
//! | 4 | CRC-32C of these |

use super::checksum::crc32c;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// In the store's directory.
pub const FILE: &str = "SYNCED";

const MAGIC: &[u8; 8] = b"stemsync";
const BYTES: usize = 44;

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub first_log: u64,
    pub flushed: u64,
    pub synced: u64,
    pub is_closed: bool,
}

impl Mark {
    fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let fields = [
            self.first_log,
            self.flushed,
            self.synced,
            u64::from(self.is_closed),
        ];
        let (checked, checksum) = bytes.split_at_mut(BYTES - 4);
        let (magic, numbers) = checked.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        for (bytes, field) in numbers.chunks_exact_mut(8).zip(fields) {
            bytes.copy_from_slice(&field.to_le_bytes());
        }
        checksum.copy_from_slice(&crc32c(checked).to_le_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (checked, checksum) = bytes.get(..BYTES)?.split_last_chunk::<4>()?;
        if crc32c(checked) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut numbers = checked.strip_prefix(MAGIC)?.chunks_exact(8).map(|bytes| {
            let bytes = bytes.first_chunk::<8>().copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        });
        Some(Self {
            first_log: numbers.next()?,
            flushed: numbers.next()?,
            synced: numbers.next()?,
            is_closed: numbers.next()? == 1,
        })
    }

    /// Reads the file of a directory. `None`: it is missing, because an earlier program wrote the store, or
    /// damaged.
    pub fn read(dir: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(dir.join(FILE)) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes it, and syncs it.
    pub fn write(self, dir: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(dir.join(FILE))?;
        let is_new = file.metadata()?.len() < BYTES as u64;
        file.write_all_at(&self.to_bytes(), 0)?;
        if is_new {
            file.sync_all()?;
            File::open(dir)?.sync_all()?;
        } else {
            file.sync_data()?;
        }
        Ok(file)
    }
}

/// The file of an open store.
#[derive(Debug)]
pub(crate) struct SyncMark {
    file: File,
    mark: Mutex<Mark>,
}

impl SyncMark {
    /// For a store whose entries up to `sequence` are all in tables, and whose first log is `first_log`.
    pub fn begin(dir: &Path, first_log: u64, sequence: u64) -> io::Result<Self> {
        let mark = Mark {
            first_log,
            flushed: sequence,
            synced: sequence,
            is_closed: false,
        };
        Ok(Self {
            file: mark.write(dir)?,
            mark: Mutex::new(mark),
        })
    }

    /// To be called before a write to the log. Returns up to where the log has been synced.
    pub fn begin_write(&self) -> u64 {
        let mut mark = self.mark.lock();
        if mark.is_closed {
            mark.is_closed = false;
            self.write(&mark);
            self.sync();
        }
        mark.synced
    }

    /// Entries up to `sequence` have been synced.
    pub fn note_synced(&self, sequence: u64) {
        let mut mark = self.mark.lock();
        if sequence > mark.synced {
            mark.synced = sequence;
            self.write(&mark);
        }
    }

    /// Entries up to `sequence` are in tables.
    pub fn note_flushed(&self, sequence: u64) {
        let mut mark = self.mark.lock();
        mark.flushed = mark.flushed.max(sequence);
        mark.synced = mark.synced.max(sequence);
        self.write(&mark);
        self.sync();
    }

    /// All entries, up to `sequence`, have been synced, and no other is written for now.
    pub fn note_closed(&self, sequence: u64) {
        let mut mark = self.mark.lock();
        mark.synced = mark.synced.max(sequence);
        mark.is_closed = true;
        self.write(&mark);
        self.sync();
    }

    /// After an error the mark is too low. Then a start detects less damage, and nothing else is wrong.
    fn write(&self, mark: &Mark) {
        if let Err(error) = self.file.write_all_at(&mark.to_bytes(), 0) {
            tracing::debug!(%error, "cannot write {FILE}");
        }
    }

    fn sync(&self) {
        if let Err(error) = self.file.sync_data() {
            tracing::debug!(%error, "cannot sync {FILE}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Mark::read(dir.path()).unwrap(), None);
        let mark = SyncMark::begin(dir.path(), 7, 100).unwrap();
        mark.note_synced(150);
        mark.note_synced(120);
        let mut expected = Mark {
            first_log: 7,
            flushed: 100,
            synced: 150,
            is_closed: false,
        };
        assert_eq!(Mark::read(dir.path()).unwrap(), Some(expected));
        mark.note_flushed(160);
        (expected.flushed, expected.synced) = (160, 160);
        assert_eq!(Mark::read(dir.path()).unwrap(), Some(expected));
        mark.note_closed(170);
        (expected.synced, expected.is_closed) = (170, true);
        assert_eq!(Mark::read(dir.path()).unwrap(), Some(expected));
        assert_eq!(mark.begin_write(), 170);
        expected.is_closed = false;
        assert_eq!(Mark::read(dir.path()).unwrap(), Some(expected));
        drop(mark);
        let bytes = expected.to_bytes();
        for bit in 0..BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Mark::parse(&damaged), None);
        }
        for end in 0..BYTES {
            assert_eq!(Mark::parse(&bytes[..end]), None);
        }
    }
}
