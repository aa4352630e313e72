//! A large shop's orders, after the public record of one: a main table of about 1.1 KB a row with a BIGINT
//! AUTO_INCREMENT key, one unique and 13 non-unique secondary indexes (3 on timestamps), four more tables; 12 point
//! SELECTs by primary or secondary key with equal weight; a write transaction of 10 INSERTs over the 5 tables.
//!
//! [`schema`] has the tables, [`data`] the rows, [`reads`] and [`writes`] the operations.

pub mod data;
pub mod reads;
pub mod schema;
pub mod writes;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::random::Random;
use crate::{DemoArguments, report};
use reads::Reads;
use writes::{Writes, Written};

/// Orders in one transaction while the shop is filled.
const LOAD_BATCH: u64 = 50;

/// The filled shop: what the workers share.
pub struct Shop {
    opts: Opts,
    /// The order of each sequence number below the number first loaded.
    orders: Vec<Written>,
    next_sequence: AtomicU64,
    reads_per_write: u64,
    pub threads: usize,
    seed: u64,
}

impl Shop {
    /// Drops and creates the database, its tables and its first orders.
    pub fn create(opts: &Opts, arguments: &DemoArguments) -> Result<Self> {
        let mut conn = Conn::new(opts.clone())?;
        let name = arguments.database.replace('`', "``");
        conn.query_drop(format!("DROP DATABASE IF EXISTS `{name}`"))?;
        conn.query_drop(format!("CREATE DATABASE `{name}`"))?;
        let opts: Opts = OptsBuilder::from_opts(opts.clone())
            .db_name(Some(arguments.database.as_str()))
            .into();
        conn.select_db(&arguments.database)?;
        for table in schema::TABLES {
            conn.query_drop(table)?;
        }
        let mut shop = Self {
            opts,
            orders: Vec::new(),
            next_sequence: AtomicU64::new(0),
            reads_per_write: arguments.reads_per_write,
            threads: arguments.threads,
            seed: arguments.seed,
        };
        shop.orders = shop.fill(arguments.orders)?;
        Ok(shop)
    }

    fn fill(&self, orders: u64) -> Result<Vec<Written>> {
        let written = Mutex::new(Vec::new());
        let progress = Progress::new("filling", orders);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads.min(8))
                .map(|_| scope.spawn(|| self.fill_some(orders, &written, &progress)))
                .collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().map_err(|_| Error::Worker)?)
        })?;
        progress.finish();
        let mut written = written.into_inner().map_err(|_| Error::Worker)?;
        written.sort_by_key(|order: &Written| order.sequence);
        Ok(written)
    }

    fn fill_some(&self, orders: u64, written: &Mutex<Vec<Written>>, progress: &Progress) -> Result<()> {
        let mut conn = Conn::new(self.opts.clone())?;
        let writes = Writes::prepare(&mut conn)?;
        loop {
            let first = self.next_sequence.fetch_add(LOAD_BATCH, Ordering::Relaxed);
            if first >= orders {
                return Ok(());
            }
            let batch: Vec<u64> = (first..orders.min(first + LOAD_BATCH)).collect();
            let mut new = writes.transaction(&mut conn, &batch)?;
            progress.add(batch.len() as u64);
            written.lock().map_err(|_| Error::Worker)?.append(&mut new);
        }
    }

    /// One worker: operations until `running` says no.
    pub fn work(
        &self,
        worker: u64,
        running: &dyn Fn() -> bool,
        recorder: &mut report::Recorder,
    ) -> Result<()> {
        let mut conn = Conn::new(self.opts.clone())?;
        let reads = Reads::prepare(&mut conn)?;
        let writes = Writes::prepare(&mut conn)?;
        let mut random = Random::new(crate::random::mix(self.seed.wrapping_add(worker)));
        recorder.ready();
        while running() {
            if random.below(self.reads_per_write + 1) == 0 {
                let sequence = self.next_sequence.fetch_add(1, Ordering::Relaxed);
                let done = recorder.time(writes::OPERATION, || {
                    writes.transaction(&mut conn, &[sequence]).map(drop)
                });
                if !done {
                    // Whatever the transaction left open must not reach the next operation.
                    let _ = conn.query_drop("ROLLBACK");
                }
            } else {
                let order = &self.orders[random.below(self.orders.len() as u64) as usize];
                let read = &reads.list[random.below(reads.list.len() as u64) as usize];
                recorder.time(read.operation, || read.run(&mut conn, order));
            }
        }
        Ok(())
    }

    /// The operations in the order the report lists them.
    pub fn operations() -> Vec<&'static str> {
        reads::operations().chain([writes::OPERATION]).collect()
    }
}
