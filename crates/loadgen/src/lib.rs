//! The load generator: workloads taken from the public record, run against any MySQL server.
//!
//! `stemdb bench` ([`mod@bench`]) prepares, runs, checks and cleans up a workload. `stemdb demo`
//! ([`mod@demo`]) does all of it for one workload.
//!
//! Not here: anything that knows StemDB, apart from comments. The same workload on another server compares
//! the two.
//!
//! Where to go next:
//!
//! - [`workload`]: the traits of a workload; [`registry`]: all workloads by name. [`orders`], [`sysbench`],
//!   [`tpcc`], [`ontime`], ... are one module each.
//! - [`runner`]: threads, the clock, latencies. [`mod@result`]: the result file of a run.
//! - [`client`]: the MySQL client that all workloads use; [`target`]: the server's address and account.

pub mod ageing;
pub mod bench;
pub mod ch;
pub mod client;
pub mod demo;
pub mod distribution;
mod error;
pub mod joins;
pub mod load;
pub mod ontime;
pub mod options;
pub mod orders;
pub mod progress;
pub mod random;
pub mod registry;
pub mod report;
pub mod result;
pub mod runner;
pub mod sysbench;
pub mod table;
mod tables;
pub mod target;
pub mod tpcc;
pub mod tpch;
pub mod workload;
pub mod ycsb;

pub use bench::{BenchCommand, bench};
pub use demo::{DemoArguments, demo};
pub use error::{Error, Result};
