//! YCSB's core workloads A to F over a SQL table with a key and ten fields of 100 bytes.
//!
//! Source: Cooper and others, "Benchmarking Cloud Serving Systems with YCSB" (2010), with the proportions
//! of its workload files. `records` has the table and its rows, `worker` the operations.

mod records;
mod worker;

use crate::distribution::{Distribution, Zipf};
use crate::error::Result;
use crate::options::{OptionSpec, Options};
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Worker, Workload};
use records::Inserts;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("records", "100000", "rows there are first, about 1 KB each"),
    OptionSpec::new(
        "distribution",
        "zipfian",
        "how keys are chosen: zipfian (popular keys spread over the table) or uniform; ycsb-d: latest first, or uniform",
    ),
    OptionSpec::new(
        "scan-rows",
        "100",
        "ycsb-e: the longest scan; lengths are chosen evenly",
    ),
];

/// The operations of a worker. Their positions are those of [`OPERATIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

const OPERATIONS: [(Operation, &str); 5] = [
    (Operation::Read, "read"),
    (Operation::Update, "update"),
    (Operation::Insert, "insert"),
    (Operation::Scan, "scan"),
    (Operation::ReadModifyWrite, "read-modify-write"),
];

/// The percentage of each operation, in the order of [`OPERATIONS`].
type Mix = [u64; 5];

const A: Mix = [50, 50, 0, 0, 0];
const B: Mix = [95, 5, 0, 0, 0];
const C: Mix = [100, 0, 0, 0, 0];
const D: Mix = [95, 0, 5, 0, 0];
const E: Mix = [0, 0, 5, 95, 0];
const F: Mix = [50, 0, 0, 0, 50];

pub const WORKLOADS: &[WorkloadSpec] = &[
    WorkloadSpec::new("ycsb-a", "half reads, half updates", OPTIONS, |o| {
        build(o, A, false)
    }),
    WorkloadSpec::new("ycsb-b", "95 % reads, 5 % updates", OPTIONS, |o| {
        build(o, B, false)
    }),
    WorkloadSpec::new("ycsb-c", "reads only", OPTIONS, |o| build(o, C, false)),
    WorkloadSpec::new(
        "ycsb-d",
        "95 % reads of the latest rows, 5 % inserts",
        OPTIONS,
        |o| build(o, D, true),
    ),
    WorkloadSpec::new("ycsb-e", "95 % short scans, 5 % inserts", OPTIONS, |o| {
        build(o, E, false)
    }),
    WorkloadSpec::new("ycsb-f", "half reads, half read-modify-writes", OPTIONS, |o| {
        build(o, F, false)
    }),
];

/// Which records operations use.
#[derive(Debug, Clone)]
enum Choice {
    /// Only those that were loaded.
    First(Distribution),
    /// All of them; the most recently inserted ones most often.
    Latest(Zipf),
}

struct Ycsb {
    records: u64,
    mix: Mix,
    choice: Choice,
    scan_rows: u64,
    inserts: Inserts,
}

fn build(options: &Options, mix: Mix, latest: bool) -> Result<Box<dyn Workload>> {
    let records = options.integer("records", 1..=10_000_000_000)?;
    let choice = match options.word("distribution", &["zipfian", "uniform"])? {
        "uniform" => Choice::First(Distribution::uniform(records)),
        _ if latest => Choice::Latest(Zipf::new(records, Zipf::EXPONENT)),
        _ => Choice::First(Distribution::zipfian(records)),
    };
    Ok(Box::new(Ycsb {
        records,
        mix,
        choice,
        scan_rows: options.integer("scan-rows", 1..=1_000_000)?,
        inserts: Inserts::default(),
    }))
}

impl Workload for Ycsb {
    fn operations(&self) -> Vec<String> {
        let used = OPERATIONS.iter().zip(self.mix).filter(|(_, share)| *share > 0);
        used.map(|((_, name), _)| (*name).to_owned()).collect()
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        records::prepare(self.records, context)
    }

    fn open(&self, context: &Context) -> Result<()> {
        records::verify_size(self.records, context)?;
        self.inserts.start();
        Ok(())
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker + '_>> {
        worker::open(self, context, number)
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        records::check(self.records, context, checks)
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        records::cleanup(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_is_whole_and_operations_have_their_place() {
        for mix in [A, B, C, D, E, F] {
            assert_eq!(mix.iter().sum::<u64>(), 100);
        }
        for (position, (operation, _)) in OPERATIONS.iter().enumerate() {
            assert_eq!(*operation as usize, position);
        }
    }
}
