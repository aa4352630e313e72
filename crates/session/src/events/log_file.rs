//! Log files, and the rows of the logs that are tables. A statement never waits for a log, and never fails
//! because of it: a thread writes the file, and entries are dropped if they come too fast or the disk is
//! full.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use parking_lot::Mutex;
use types::Value;

use crate::variables::GlobalVariables;

/// How many entries may wait for the thread.
const QUEUE: usize = 4096;
/// How many rows a log's table has. Older ones are dropped.
const ROWS_MAX: usize = 10_000;
/// How many bytes the texts of these rows may have.
const ROWS_BYTES_MAX: usize = 16 << 20;

enum Message {
    Open { path: String, header: String },
    Reopen,
    Entry(Vec<u8>),
}

/// A file that is written by its own thread.
#[derive(Default)]
pub struct LogFile {
    queue: Mutex<Option<SyncSender<Message>>>,
    path: Mutex<String>,
    dropped: AtomicU64,
}

impl LogFile {
    /// Writes to the given file from now on.
    pub fn open(&self, path: &str, header: String) {
        let mut current = self.path.lock();
        if *current == path {
            return;
        }
        path.clone_into(&mut current);
        let path = path.to_owned();
        self.send(Message::Open { path, header });
    }

    pub fn reopen(&self) {
        if self.queue.lock().is_some() {
            self.send(Message::Reopen);
        }
    }

    pub fn write(&self, entry: String) {
        self.send(Message::Entry(entry.into_bytes()));
    }

    fn send(&self, message: Message) {
        let mut queue = self.queue.lock();
        if queue.is_none() {
            let (sender, receiver) = sync_channel(QUEUE);
            let started = thread::Builder::new()
                .name("log".to_owned())
                .spawn(move || write_entries(&receiver));
            if started.is_err() {
                return;
            }
            *queue = Some(sender);
        }
        let sent = queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(message).is_ok());
        if !sent {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The writing thread: ends with the server.
fn write_entries(queue: &Receiver<Message>) {
    let (mut path, mut header) = (String::new(), String::new());
    let mut file: Option<File> = None;
    while let Ok(message) = queue.recv() {
        match message {
            Message::Open { path: to, header: of } => {
                (path, header) = (to, of);
                file = open(&path, &header);
            }
            Message::Reopen => file = open(&path, &header),
            Message::Entry(entry) => {
                // If the disk is full or the file cannot be opened, the entry is lost.
                if let Some(file) = &mut file {
                    let _ = file.write_all(&entry);
                }
            }
        }
    }
}

fn open(path: &str, header: &str) -> Option<File> {
    let mut file = OpenOptions::new().append(true).create(true).open(path).ok()?;
    let _ = file.write_all(header.as_bytes());
    Some(file)
}

/// The header that MySQL writes when it opens a log.
pub fn header(variables: &GlobalVariables) -> String {
    let text = |name| super::text(variables, name);
    format!(
        "stemdb, Version: {} ({}). started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    Argument\n",
        text("version"),
        text("version_comment"),
        text("port"),
        text("socket"),
    )
}

/// The rows of a log's table, in memory.
#[derive(Default)]
pub struct LogRows {
    rows: Mutex<(VecDeque<Vec<Value>>, usize)>,
}

impl LogRows {
    pub fn push(&self, row: Vec<Value>) {
        let bytes = bytes_of(&row);
        let mut rows = self.rows.lock();
        rows.0.push_back(row);
        rows.1 += bytes;
        while rows.0.len() > ROWS_MAX || rows.1 > ROWS_BYTES_MAX && rows.0.len() > 1 {
            if let Some(oldest) = rows.0.pop_front() {
                rows.1 -= bytes_of(&oldest);
            }
        }
    }

    pub fn all(&self) -> Vec<Vec<Value>> {
        self.rows.lock().0.iter().cloned().collect()
    }

    pub fn clear(&self) {
        *self.rows.lock() = Default::default();
    }
}

fn bytes_of(row: &[Value]) -> usize {
    let bytes = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    row.iter().map(bytes).sum()
}
