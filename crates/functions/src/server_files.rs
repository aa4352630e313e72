//! Files on the server's disk, which LOAD_FILE() reads: the interface that it needs. The session implements
//! it.

use std::path::Path;

/// What reading a file comes to.
pub enum FileContents {
    Bytes(Vec<u8>),
    /// It has more bytes than allowed.
    TooLarge,
    /// It is not there, or may not be read.
    Absent,
    /// A directory, a pipe or a device, by its full name.
    NoPlainFile(String),
}

/// The files that statements may read.
pub trait ServerFiles: Send + Sync {
    /// A relative name is in the data directory.
    fn read(&self, name: &Path, bytes_max: usize) -> FileContents;
}

/// For expressions without a session: no files.
pub(crate) struct NoFiles;

impl ServerFiles for NoFiles {
    fn read(&self, _: &Path, _: usize) -> FileContents {
        FileContents::Absent
    }
}
