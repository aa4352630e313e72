//! A large shop's orders, after the public record of one: a main table of about 1.1 KB per row with a
//! BIGINT AUTO_INCREMENT key, one unique and 13 non-unique secondary indexes (3 on timestamps), and four
//! more tables; 12 point SELECTs by primary or secondary key with equal weight; a write transaction of 10
//! INSERTs over the 5 tables.
//!
//! [`schema`] has the tables, [`data`] the rows, [`fill`] loads them, [`reads`] and [`writes`] are the
//! operations.

pub mod data;
pub mod fill;
pub mod reads;
pub mod schema;
pub mod writes;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::Connection;
use crate::error::Result;
use crate::options::{OptionSpec, Options};
use crate::random::{Random, mix};
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Next, Worker, Workload};
use data::Keys;
use reads::Reads;
use writes::Writes;

const ORDERS: OptionSpec = OptionSpec::new("orders", "20000", "orders there are first, ten rows each");
const READS_PER_WRITE: OptionSpec = OptionSpec::new(
    "reads-per-write",
    "87",
    "point reads for each write transaction; 87 is what the record shows",
);

pub const WORKLOADS: &[WorkloadSpec] = &[
    WorkloadSpec {
        name: "orders-read",
        summary: "12 point reads of a large shop's orders, by primary and secondary keys",
        options: &[ORDERS],
        build: |options| build(options, Mix::Reads),
    },
    WorkloadSpec {
        name: "orders-write",
        summary: "a new order: a transaction of 10 INSERTs over 5 tables with 20 indexes",
        options: &[ORDERS],
        build: |options| build(options, Mix::Writes),
    },
    WorkloadSpec {
        name: "orders-mixed",
        summary: "both, many reads for each write",
        options: &[ORDERS, READS_PER_WRITE],
        build: |options| {
            let reads_per_write = options.integer(READS_PER_WRITE.name, 0..=1_000_000)?;
            build(options, Mix::Both { reads_per_write })
        },
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    Reads,
    Writes,
    Both { reads_per_write: u64 },
}

struct Shop {
    orders: u64,
    mix: Mix,
    /// The sequence number of the next new order.
    next_sequence: AtomicU64,
}

fn build(options: &Options, mix: Mix) -> Result<Box<dyn Workload>> {
    Ok(Box::new(Shop {
        orders: options.integer(ORDERS.name, 1..=10_000_000_000)?,
        mix,
        next_sequence: AtomicU64::new(0),
    }))
}

impl Workload for Shop {
    fn operations(&self) -> Vec<String> {
        let reads = reads::operations().map(str::to_owned);
        let write = std::iter::once(writes::OPERATION.to_owned());
        match self.mix {
            Mix::Reads => reads.collect(),
            Mix::Writes => write.collect(),
            Mix::Both { .. } => reads.chain(write).collect(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        fill::prepare(self.orders, context)
    }

    fn open(&self, context: &Context) -> Result<()> {
        // Refuses tables that have fewer rows than the readers ask for.
        let mut connection = Connection::open(&context.target)?;
        let last = Keys::of(self.orders - 1).order_id();
        if connection
            .fetch_query(&format!("SELECT id FROM orders WHERE id = {last}"))?
            .is_empty()
        {
            return Err(crate::Error::Arguments(format!(
                "the tables hold less than {} orders; prepare them with the same -o orders",
                self.orders
            )));
        }
        // Keys are computed from sequence numbers and must be new. A sequence that starts at the current
        // time has new ones.
        let millis = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64);
        self.next_sequence
            .store(first_sequence(millis), Ordering::Relaxed);
        Ok(())
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        let mut connection = Connection::open(&context.target)?;
        Ok(Box::new(Client {
            reads: Reads::prepare(&mut connection)?,
            writes: Writes::prepare(&mut connection)?,
            connection,
            random: Random::new(mix(context.seed ^ mix(number as u64 + 1))),
            shop: self,
            keys: Keys::of(0),
            sequence: 0,
        }))
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        fill::check(self.orders, context, checks)
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        fill::cleanup(context)
    }
}

/// 2^14 orders per millisecond are more than any server handles. The number stays below 2^56 for several
/// hundred years.
fn first_sequence(unix_millis: u64) -> u64 {
    (unix_millis << 14) & ((1 << 56) - 1)
}

/// One worker's connection.
struct Client<'a> {
    shop: &'a Shop,
    connection: Connection,
    reads: Reads,
    writes: Writes,
    random: Random,
    /// The keys that the next operation uses.
    keys: Keys,
    sequence: u64,
}

impl Worker for Client<'_> {
    fn next(&mut self) -> Next {
        let write = match self.shop.mix {
            Mix::Reads => false,
            Mix::Writes => true,
            Mix::Both { reads_per_write } => self.random.below(reads_per_write + 1) == 0,
        };
        if write {
            self.sequence = self.shop.next_sequence.fetch_add(1, Ordering::Relaxed);
            // The last operation, or the only one.
            return Next::now(if self.shop.mix == Mix::Writes {
                0
            } else {
                reads::COUNT
            });
        }
        self.keys = Keys::of(self.random.below(self.shop.orders));
        Next::now(self.random.below(reads::COUNT as u64) as usize)
    }

    fn run(&mut self, operation: usize) -> Result<()> {
        if self.shop.mix == Mix::Writes || operation == reads::COUNT {
            self.writes.transaction(&mut self.connection, self.sequence)
        } else {
            self.reads.run(&mut self.connection, operation, &self.keys)
        }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_runs_do_not_meet() {
        let year_2026 = 1_790_000_000_000;
        assert!(first_sequence(year_2026) > 10_000_000_000);
        assert!(first_sequence(year_2026 * 2) < 1 << 56);
        assert_eq!(first_sequence(year_2026 + 1) - first_sequence(year_2026), 16_384);
    }
}
