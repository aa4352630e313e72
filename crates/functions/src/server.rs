//! What some functions ask of the server: files on its disk, its connections and its roles. The session implements
//! the interface.

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

/// The server that a session belongs to.
pub trait Server: Send + Sync {
    /// A file that statements may read. A relative name is in the data directory.
    fn read(&self, name: &Path, bytes_max: usize) -> FileContents;

    fn has_connection(&self, id: u64) -> bool;

    /// The accounts and the roles that they have been granted, as GraphML.
    fn roles_graph(&self) -> String;
}

/// For expressions without a session.
pub(crate) struct NoServer;

impl Server for NoServer {
    fn read(&self, _: &Path, _: usize) -> FileContents {
        FileContents::Absent
    }

    fn has_connection(&self, _: u64) -> bool {
        false
    }

    fn roles_graph(&self) -> String {
        String::new()
    }
}
