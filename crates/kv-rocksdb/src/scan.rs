//! Scanning a range, at any timestamp.
//!
//! The iterator over `latest` sees one moment of RocksDB's, at or after the snapshot's timestamp; see
//! [`crate::read`] for why looking into `history` later is sound.

use crate::failure::from_rocksdb;
use crate::layout::{LATEST, Version};
use crate::storage::RocksStorage;
use kv::{Result, ScanRequest, Visit};
use rocksdb::ReadOptions;
use std::ops::ControlFlow;

/// How many stored rows to pass between looks at the interrupt.
const ROWS_PER_CHECK: u32 = 256;

impl RocksStorage {
    pub(crate) fn scan_range(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(request.range.start.as_slice());
        if !request.range.end.is_empty() {
            options.set_iterate_upper_bound(request.range.end.as_slice());
        }
        let mut iterator = self.db.raw_iterator_cf_opt(self.family(LATEST)?, options);
        let mut history = self.history();
        if request.reverse {
            iterator.seek_to_last();
        } else {
            iterator.seek_to_first();
        }
        let mut rows = 0_u32;
        while let Some((key, stored)) = iterator.item() {
            let version = Version::parse(stored)?;
            let mut flow = ControlFlow::Continue(());
            if version.ts > request.ts {
                history.read(key, request.ts, &mut |value| flow = visit(key, value))?;
            } else if let Some(value) = version.value {
                flow = visit(key, value);
            }
            if flow.is_break() {
                return Ok(());
            }
            rows += 1;
            if rows == ROWS_PER_CHECK {
                rows = 0;
                if let Some(interrupt) = request.interrupt {
                    interrupt.check()?;
                }
            }
            if request.reverse {
                iterator.prev();
            } else {
                iterator.next();
            }
        }
        iterator.status().map_err(|error| from_rocksdb(&error))
    }
}
