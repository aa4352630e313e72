//! Many rows as one LOAD DATA LOCAL. A StemDB that has its files to itself loads them as sorted files, with their indexes, in
//! bounded memory: several times as fast as rows that are inserted.
//!
//! Such a statement takes all rows or none, so where the import is interrupted, the table says which, once the server has
//! ended it: the caller's session has a lock until then. It takes none if a row has an error or a warning: such rows are
//! written in parts, which find the row.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use mysql::LocalInfileHandler;

use crate::Result;
use crate::endpoint::{Client, TextRow};
use crate::error::Error;

/// What is wrong with a row becomes an error, and nothing is loaded.
const SETTINGS: &str =
    "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), stemdb_load_local_ignore = OFF";

/// Pieces that wait for the server.
const WAITING: usize = 2;

/// `None`: the file cannot be read to its end.
type Piece = Option<Vec<u8>>;

/// A statement that is being sent rows. Dropped before its end, it loads nothing.
pub(crate) struct Whole {
    pieces: Option<SyncSender<Piece>>,
    loading: Option<thread::JoinHandle<Result<Done>>>,
}

pub(crate) struct Done {
    pub(crate) rows: u64,
    pub(crate) warnings: Vec<TextRow>,
}

/// Fewer bytes are better written in parts. `None`: the server knows no other way.
pub(crate) fn least_bytes(client: &mut Client) -> Result<Option<u64>> {
    let engines = client.rows("SHOW ENGINES")?;
    if !engines.iter().any(|engine| engine.text(2).contains("(rocksdb)")) {
        return Ok(None);
    }
    let least = client.one("SELECT @@GLOBAL.stemdb_bulk_load_bytes")?;
    Ok(least.and_then(|least| least.parse().ok()))
}

/// Whether the server takes files from clients.
pub(crate) fn takes_local_files(client: &mut Client) -> Result<bool> {
    let local_infile = client.one("SELECT @@GLOBAL.local_infile")?;
    Ok(matches!(local_infile.as_deref(), Some("1" | "ON")))
}

impl Whole {
    /// `client`: its session's settings are made. It is closed when the statement has ended.
    pub(crate) fn begin(mut client: Client, load: &str) -> Result<Self> {
        client.run(SETTINGS)?;
        let (pieces, arriving) = sync_channel(WAITING);
        client.set_local_files(handler(arriving));
        let load = load.to_owned();
        let run = move || {
            client.run(&load)?;
            Ok(Done {
                rows: client.affected_rows(),
                warnings: client.warnings()?,
            })
        };
        let loading = thread::Builder::new().spawn(run).map_err(|_| Error::Thread)?;
        Ok(Self {
            pieces: Some(pieces),
            loading: Some(loading),
        })
    }

    /// Sends some rows. `false`: the statement has ended, by an error.
    pub(crate) fn give(&self, rows: Vec<u8>) -> bool {
        let pieces = self.pieces.as_ref();
        pieces.is_some_and(|pieces| pieces.send(Some(rows)).is_ok())
    }

    /// All rows have been sent.
    pub(crate) fn finish(mut self) -> Result<Done> {
        drop(self.pieces.take());
        let done = self.loading.take().map(thread::JoinHandle::join);
        done.and_then(|done| done.ok()).unwrap_or(Err(Error::Thread))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(pieces) = self.pieces.take() {
            // If it cannot be sent, the statement has ended.
            let _ = pieces.send(None);
        }
        if let Some(loading) = self.loading.take() {
            let _ = loading.join();
        }
    }
}

/// Sends the pieces as they come. Without an orderly end the connection is lost, and the server takes nothing.
fn handler(arriving: Receiver<Piece>) -> LocalInfileHandler {
    let arriving = Mutex::new(arriving);
    LocalInfileHandler::new(move |_, out| {
        let arriving = arriving
            .lock()
            .map_err(|_| io::Error::other("a thread panicked"))?;
        while let Ok(piece) = arriving.recv() {
            let rows = piece.ok_or_else(|| io::Error::other("the file cannot be read"))?;
            out.write_all(&rows)?;
        }
        Ok(())
    })
}
