//! RocksDB's errors as this crate's.

use kv::Error;
use rocksdb::ErrorKind;
use std::path::Path;

/// An error of a read, or of background work.
pub fn from_rocksdb(error: &rocksdb::Error) -> Error {
    let text = error.to_string();
    if is_disk_full(&text) {
        return Error::DiskFull(text);
    }
    match error.kind() {
        ErrorKind::Corruption => Error::Corrupt(text),
        ErrorKind::ShutdownInProgress => Error::Unavailable(text),
        _ => Error::Io(text),
    }
}

/// An error of opening the store in `dir`.
pub fn from_open(error: &rocksdb::Error, dir: &Path) -> Error {
    let text = error.to_string();
    let dir = dir.display();
    // RocksDB has no error code for a lock that is taken. The second text is for a lock that this process
    // holds.
    if text.contains("While lock file") || text.contains("lock hold by current process") {
        return Error::Unavailable(format!("another process is using {dir}"));
    }
    if text.contains("Column families not opened") {
        return Error::Unavailable(format!(
            "{dir} was written by another version of this program: {text}"
        ));
    }
    match from_rocksdb(error) {
        Error::Io(text) => Error::Unavailable(format!("cannot open {dir}: {text}")),
        other => other,
    }
}

/// RocksDB passes the operating system's error text through.
fn is_disk_full(text: &str) -> bool {
    ["No space left on device", "Disk quota exceeded", "File too large"]
        .iter()
        .any(|words| text.contains(words))
}
