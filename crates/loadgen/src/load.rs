//! Fills tables over several connections at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::client::Connection;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::workload::Context;

/// Calls `load` for every part in `0..parts`, over `context.load_threads` connections. The first error ends
/// all of them.
pub fn in_parallel(
    context: &Context,
    what: &str,
    parts: u64,
    load: impl Fn(&mut Connection, u64) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let progress = Progress::new(what, parts);
    let work = || -> Result<()> {
        let mut connection = Connection::open(&context.target)?;
        while !failed.load(Ordering::Relaxed) {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                break;
            }
            load(&mut connection, part)?;
            progress.add(1);
        }
        Ok(())
    };
    let threads = context.load_threads.max(1).min(parts.max(1) as usize);
    let result = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let result = work();
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        // All threads are waited for before the first error is reported.
        let results: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| Error::Worker)?)
            .collect();
        results.into_iter().collect::<Result<Vec<()>>>().map(drop)
    });
    progress.finish();
    result
}

/// An INSERT of many rows as text: `head`, and then rows separated by commas.
#[derive(Debug)]
pub struct MultiInsert {
    head: String,
    sql: Vec<u8>,
    rows: usize,
}

impl MultiInsert {
    /// The statement is sent when it has this length.
    const BYTES_MAX: usize = 512 * 1024;

    /// `head`: `INSERT INTO t (a, b) VALUES`.
    pub fn new(head: impl Into<String>) -> Self {
        Self {
            head: head.into(),
            sql: Vec::new(),
            rows: 0,
        }
    }

    /// Adds a row, and sends the statement if it has become long.
    pub fn row(&mut self, connection: &mut Connection, values: &[crate::client::Param<'_>]) -> Result<()> {
        if self.rows == 0 {
            self.sql.clear();
            self.sql.extend_from_slice(self.head.as_bytes());
        } else {
            self.sql.push(b',');
        }
        self.sql.push(b'(');
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                self.sql.push(b',');
            }
            value.write_literal(&mut self.sql);
        }
        self.sql.push(b')');
        self.rows += 1;
        if self.sql.len() >= Self::BYTES_MAX {
            self.flush(connection)?;
        }
        Ok(())
    }

    /// Sends the remaining rows.
    pub fn flush(&mut self, connection: &mut Connection) -> Result<()> {
        if self.rows > 0 {
            self.rows = 0;
            connection.query_bytes(&self.sql)?;
        }
        Ok(())
    }
}
