//! Fuzz targets: whatever reads bytes that someone else wrote, given any bytes.
//!
//! A target is a function of bytes that must return, without a panic and within bounded memory, whatever they are. Each
//! comes with seeds: valid inputs that [`mutate`] breaks. `tests/smoke.rs` runs all of them for a fixed number of inputs
//! from a fixed seed, so that a failure can be had again.

pub mod bounded;
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
