//! Writes while a flush finds the disk full: `full_disk.cc`, which says why.

#![expect(unsafe_code, reason = "the one call that the library does not wrap")]

use librocksdb_sys::rocksdb_options_t;
use rocksdb::{AsRawPtr, Options};

unsafe extern "C" {
    fn stemdb_fail_on_full_disk(options: *mut rocksdb_options_t, retry_compactions: bool);
}

/// Makes a flush that finds the disk full fail the writes that wait for it, instead of letting them wait for
/// space.
///
/// `retry_compactions`: a compaction that finds the disk full is tried again every second, so that a flush
/// after it fails writes, too. This is for a store without a disk reserve. Otherwise RocksDB lets a
/// compaction begin again only if there is space for its output, so that it does not use up the reserve again
/// and again.
pub(crate) fn fails_writes(options: &mut Options, retry_compactions: bool) {
    // SAFETY: `options` are RocksDB's, alive, and not shared; the call adds to them and keeps no pointer.
    unsafe { stemdb_fail_on_full_disk(options.as_raw_ptr(), retry_compactions) };
}
