//! sysbench's OLTP workloads: the statements of its Lua scripts, over tables of the same layout. So real
//! sysbench runs on tables prepared here, and the other way round.
//!
//! `schema` creates, checks and drops the tables; `worker` has the statements and their order.

mod schema;
mod worker;

use crate::distribution::Distribution;
use crate::error::Result;
use crate::options::{OptionSpec, Options};
use crate::workload::WorkloadSpec;
use crate::workload::{Checks, Context, Worker, Workload};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("tables", "4", "number of tables: sbtest1, sbtest2, ..."),
    OptionSpec::new("table-size", "100000", "rows of each table"),
    OptionSpec::new(
        "distribution",
        "special",
        "how ids are chosen: special (sysbench's default) or uniform",
    ),
    OptionSpec::new("range-size", "100", "ids in a range of the read workloads"),
    OptionSpec::new("skip-trx", "off", "on: no BEGIN and COMMIT around the statements"),
];

/// Which of sysbench's scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
}

pub const WORKLOADS: &[WorkloadSpec] = &[
    WorkloadSpec::new(
        "sysbench-point-select",
        "oltp_point_select: one row by primary key",
        OPTIONS,
        |o| build(Script::PointSelect, o),
    ),
    WorkloadSpec::new(
        "sysbench-read-only",
        "oltp_read_only: a transaction of 10 point selects and 4 ranges",
        OPTIONS,
        |o| build(Script::ReadOnly, o),
    ),
    WorkloadSpec::new(
        "sysbench-read-write",
        "oltp_read_write: the reads, 2 updates, a delete and an insert in a transaction",
        OPTIONS,
        |o| build(Script::ReadWrite, o),
    ),
    WorkloadSpec::new(
        "sysbench-write-only",
        "oltp_write_only: 2 updates, a delete and an insert in a transaction",
        OPTIONS,
        |o| build(Script::WriteOnly, o),
    ),
    WorkloadSpec::new(
        "sysbench-update-index",
        "oltp_update_index: an update of an indexed column",
        OPTIONS,
        |o| build(Script::UpdateIndex, o),
    ),
    WorkloadSpec::new(
        "sysbench-update-non-index",
        "oltp_update_non_index: an update of a column without index",
        OPTIONS,
        |o| build(Script::UpdateNonIndex, o),
    ),
    WorkloadSpec::new(
        "sysbench-insert",
        "oltp_insert: an insert (as text, as sysbench sends it)",
        OPTIONS,
        |o| build(Script::Insert, o),
    ),
    WorkloadSpec::new(
        "sysbench-delete",
        "oltp_delete: a delete by primary key",
        OPTIONS,
        |o| build(Script::Delete, o),
    ),
];

#[derive(Debug, Clone)]
struct Sysbench {
    script: Script,
    tables: u64,
    table_size: u64,
    range_size: i64,
    transactions: bool,
    ids: Distribution,
}

fn build(script: Script, options: &Options) -> Result<Box<dyn Workload>> {
    // Ids are of MySQL's type INTEGER.
    let table_size = options.integer("table-size", 1..=2_000_000_000)?;
    let ids = match options.word("distribution", &["special", "uniform"])? {
        "uniform" => Distribution::uniform(table_size),
        _ => Distribution::special(table_size),
    };
    Ok(Box::new(Sysbench {
        script,
        tables: options.integer("tables", 1..=1000)?,
        table_size,
        range_size: options.integer("range-size", 1..=1_000_000)? as i64,
        transactions: !options.switch("skip-trx")?,
        ids,
    }))
}

impl Workload for Sysbench {
    fn operations(&self) -> Vec<String> {
        vec![self.script.operation().to_owned()]
    }

    fn prepare(&self, context: &Context) -> Result<()> {
        schema::prepare(self, context)
    }

    fn worker(&self, context: &Context, number: usize, _threads: usize) -> Result<Box<dyn Worker>> {
        worker::open(self, context, number)
    }

    fn check(&self, context: &Context, checks: &mut Checks) -> Result<()> {
        schema::check(self, context, checks)
    }

    fn cleanup(&self, context: &Context) -> Result<()> {
        schema::cleanup(self, context)
    }
}

impl Script {
    fn operation(self) -> &'static str {
        match self {
            Self::PointSelect => "point select",
            Self::ReadOnly => "read-only transaction",
            Self::ReadWrite => "read-write transaction",
            Self::WriteOnly => "write-only transaction",
            Self::UpdateIndex => "update of index",
            Self::UpdateNonIndex => "update of no index",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}
