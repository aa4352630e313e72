//! Fuzz targets: all code that reads bytes from outside, run on arbitrary bytes.
//!
//! A target is a function of bytes. It must return without a panic and within a memory limit. Each has
//! seeds: valid inputs that [`mutate`] damages. `tests/smoke.rs` runs all targets on a fixed number of
//! inputs from a fixed seed, so that a failure can be reproduced.
//!
//! Not here: random SQL statements over valid data (`tests/runner`, suite `agree`). Where to go next: [`TARGETS`], with
//! the seeds of each.

pub mod bounded;
pub mod files;
pub mod mutate;
pub mod recovery;
pub mod sql;
pub mod storage;
pub mod wire_packets;

/// One target.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "packets",
        run: wire_packets::run,
        seeds: wire_packets::seeds,
    },
    Target {
        name: "keys",
        run: storage::keys,
        seeds: storage::key_seeds,
    },
    Target {
        name: "rows",
        run: storage::rows,
        seeds: storage::row_seeds,
    },
    Target {
        name: "json",
        run: storage::json,
        seeds: storage::json_seeds,
    },
    Target {
        name: "loaded files",
        run: files::lines,
        seeds: files::line_seeds,
    },
    Target {
        name: "binary logs",
        run: files::binary_log,
        seeds: files::binary_log_seeds,
    },
    Target {
        name: "statement logs",
        run: files::statement_log,
        seeds: files::statement_log_seeds,
    },
    Target {
        name: "logs",
        run: recovery::log,
        seeds: recovery::log_seeds,
    },
    Target {
        name: "manifests",
        run: recovery::manifest,
        seeds: recovery::manifest_seeds,
    },
    Target {
        name: "sql",
        run: sql::run,
        seeds: sql::seeds,
    },
];
