//! RocksDB's write-ahead log, as this crate writes it: preallocated ([`preallocation`]), and with a record of
//! how far it has been synced ([`crate::recovery`]).

mod preallocation;

use crate::recovery::SyncMark;
use crate::recovery::log_format::{SYNCED_BYTES, synced_note};
use preallocation::Preallocation;
use rocksdb::{DB, WriteBatch, WriteOptions};
use std::path::Path;

type RocksResult<T> = Result<T, rocksdb::Error>;

/// The log of an open RocksDB.
pub(crate) struct Log {
    preallocation: Preallocation,
    synced: SyncMark,
    write_synced: WriteOptions,
    write_unsynced: WriteOptions,
}

impl Log {
    /// Of the store in `dir`.
    pub fn new(dir: &Path, synced: SyncMark) -> Self {
        let mut write_synced = WriteOptions::default();
        write_synced.set_sync(true);
        Self {
            preallocation: Preallocation::new(dir),
            synced,
            write_synced,
            write_unsynced: WriteOptions::default(),
        }
    }

    /// Writes a batch to the log, syncs it if `sync` says so, and then applies it to RocksDB's write buffers.
    /// The only way to write what has to survive a restart.
    pub fn write(&self, db: &DB, mut batch: WriteBatch, sync: bool) -> RocksResult<()> {
        let options = if sync {
            &self.write_synced
        } else {
            &self.write_unsynced
        };
        let bytes = batch.size_in_bytes() + SYNCED_BYTES;
        self.preallocation.write(bytes, || {
            batch.put_log_data(synced_note(self.synced.begin_write()));
            db.write_opt(batch, options)?;
            if sync {
                self.synced.note_synced(db.latest_sequence_number());
            }
            Ok(())
        })
    }

    /// Syncs what has been written so far.
    pub fn sync(&self, db: &DB) -> RocksResult<()> {
        // Whether the sync covers what is written during it is unknown.
        let written = db.latest_sequence_number();
        db.flush_wal(true)?;
        self.synced.note_synced(written);
        Ok(())
    }

    /// Entries up to `sequence` have been written to table files. If none has been written to the log since,
    /// the next start has no log to read.
    pub fn note_flushed(&self, db: &DB, sequence: u64) {
        // Within `write`, so that no entry is written meanwhile.
        self.preallocation.write(0, || {
            self.synced.note_flushed(sequence);
            if db.latest_sequence_number() == sequence {
                self.synced.note_closed(sequence);
            }
        });
    }

    /// Runs `change`, which adds files to RocksDB after having written all entries so far to files, too.
    /// Nothing is written to the log meanwhile. RocksDB gives such files a sequence number that no log has:
    /// with all before it in files, it lies between two logs, and leaves no gap in one.
    pub fn between_logs<E>(&self, db: &DB, change: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        self.preallocation.write(0, || {
            change()?;
            self.synced.note_flushed(db.latest_sequence_number());
            Ok(())
        })
    }

    /// Syncs the log, to which nothing is written any more.
    pub fn close(&self, db: &DB) {
        match db.flush_wal(true) {
            Ok(()) => self.synced.note_closed(db.latest_sequence_number()),
            // The next start reads more of the log.
            Err(error) => tracing::debug!(%error, "the log was not synced"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::read_sync_mark;
    use rocksdb::{FlushOptions, Options};

    #[test]
    fn the_mark_follows_syncs_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        let db = DB::open(&options, dir.path()).unwrap();
        let log = Log::new(dir.path(), SyncMark::begin(dir.path(), 0, 0).unwrap());
        let write = |key: &str, sync| {
            let mut batch = WriteBatch::default();
            batch.put(key, "value");
            log.write(&db, batch, sync).unwrap();
        };
        let mark = || read_sync_mark(dir.path()).unwrap();
        write("a", true);
        assert_eq!((mark().synced, mark().is_closed), (1, false));
        write("b", false);
        write("c", false);
        assert_eq!(mark().synced, 1);
        log.sync(&db).unwrap();
        assert_eq!(mark().synced, 3);
        write("d", false);
        db.flush_opt(&FlushOptions::default()).unwrap();
        assert_eq!((mark().flushed, mark().synced), (0, 3));
        // An entry has been written since the flush.
        log.note_flushed(&db, 3);
        assert_eq!((mark().flushed, mark().is_closed), (3, false));
        log.note_flushed(&db, 4);
        assert_eq!((mark().flushed, mark().synced, mark().is_closed), (4, 4, true));
        write("e", false);
        assert_eq!((mark().synced, mark().is_closed), (4, false));
        log.close(&db);
        assert_eq!((mark().synced, mark().is_closed), (5, true));
    }
}
