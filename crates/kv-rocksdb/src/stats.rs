//! Figures about a store, for `/metrics`.

use crate::layout::{FAMILIES, LATEST};
use crate::versions::Versions;
use rocksdb::properties;
use std::ffi::CStr;

/// Names are `snake_case` with the unit last.
pub(crate) fn figures(versions: &Versions) -> Vec<(&'static str, f64)> {
    let Versions {
        latest, superseded, ..
    } = versions;
    let of_family = |name: &str, property: &CStr| latest.property(name, property);
    let summed = |property: &CStr| {
        FAMILIES
            .iter()
            .filter_map(|name| of_family(name, property))
            .fold(0, u64::saturating_add) as f64
    };
    let single = |property: &CStr| of_family(LATEST, property).unwrap_or(0) as f64;
    let (history_bytes, in_memory, deletions) = superseded.history.size();
    let (spilled, spilled_bytes) = superseded.spill.size();
    let (row_cache_bytes, row_cache_pages) = latest.cache().size();
    vec![
        ("keys", single(properties::ESTIMATE_NUM_KEYS)),
        ("superseded_versions", in_memory as f64 + spilled as f64),
        ("history_bytes", history_bytes as f64),
        ("history_spilled_bytes", spilled_bytes as f64),
        (
            "deletions_pending",
            deletions as f64 + latest.expired().len() as f64,
        ),
        (
            "block_cache_capacity_bytes",
            single(properties::BLOCK_CACHE_CAPACITY),
        ),
        ("block_cache_usage_bytes", single(properties::BLOCK_CACHE_USAGE)),
        (
            "block_cache_pinned_bytes",
            single(properties::BLOCK_CACHE_PINNED_USAGE),
        ),
        ("row_cache_bytes", row_cache_bytes as f64),
        ("row_cache_pages", row_cache_pages as f64),
        ("row_cache_misses_total", latest.cache().misses() as f64),
        ("memtable_bytes", summed(properties::CUR_SIZE_ALL_MEM_TABLES)),
        ("sst_bytes", summed(properties::TOTAL_SST_FILES_SIZE)),
        ("live_data_bytes", summed(properties::ESTIMATE_LIVE_DATA_SIZE)),
        (
            "compaction_pending_bytes",
            summed(properties::ESTIMATE_PENDING_COMPACTION_BYTES),
        ),
        ("compactions_running", single(properties::NUM_RUNNING_COMPACTIONS)),
        ("flushes_running", single(properties::NUM_RUNNING_FLUSHES)),
        ("write_stopped", single(properties::IS_WRITE_STOPPED)),
        // RocksDB counts all of them for `default`.
        ("background_errors_total", summed(properties::BACKGROUND_ERRORS)),
    ]
}
