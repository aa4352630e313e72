//! When RocksDB slows writers down, and stops them: at so many files in its first level.
//!
//! That is meant for writers who are faster than compactions. A bulk load adds many files at one moment, and those
//! of a range that has keys already come into the first level. They do not overlap each other, so a read looks into one
//! of them, and compactions take them as they take others. With RocksDB's own limits all writers of the store would
//! stand still until those are done. So the files of a load come on top of the limits, until they are compacted.

use super::Latest;
use crate::layout::LATEST;
use parking_lot::Mutex;
use rocksdb::properties;

/// RocksDB's own.
const SLOWS_AT: u64 = 20;
const STOPS_AT: u64 = 36;

/// How many files of loads the limits have been raised by.
#[derive(Debug, Default)]
pub(super) struct StallLimits(Mutex<u64>);

impl Latest {
    fn files_of_first_level(&self) -> u64 {
        let files = self.text_property(LATEST, &properties::num_files_at_level(0));
        files.and_then(|files| files.parse().ok()).unwrap_or_default()
    }

    /// Before `files` of a load are added.
    pub(super) fn raise_stall_limits(&self, files: usize) {
        let mut raised = self.stall.0.lock();
        let files = u64::try_from(files).unwrap_or(u64::MAX);
        if self.files_of_first_level() + files >= SLOWS_AT {
            self.set_stall_limits(&mut raised, |raised| raised.saturating_add(files));
        }
    }

    /// Now and then: back to RocksDB's limits when what loads have added is compacted.
    pub fn lower_stall_limits(&self) {
        let mut raised = self.stall.0.lock();
        if *raised > 0 && self.files_of_first_level() < SLOWS_AT / 2 {
            self.set_stall_limits(&mut raised, |_| 0);
        }
    }

    fn set_stall_limits(&self, raised: &mut u64, change: impl FnOnce(u64) -> u64) {
        let more = change(*raised);
        let limit = |files: u64| {
            i32::try_from(files.saturating_add(more))
                .unwrap_or(i32::MAX)
                .to_string()
        };
        let (slows, stops) = (limit(SLOWS_AT), limit(STOPS_AT));
        let limits = [
            ("level0_slowdown_writes_trigger", slows.as_str()),
            ("level0_stop_writes_trigger", stops.as_str()),
        ];
        let set = self
            .family()
            .map(|family| self.db.set_options_cf(family, &limits));
        match set {
            Ok(Ok(())) => *raised = more,
            other => tracing::warn!(?other, "writers may stand still after a bulk load"),
        }
    }
}
