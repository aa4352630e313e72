//! What becomes of writes when what they have filled cannot be written out: `full_disk.cc`, which says why.

#![expect(unsafe_code, reason = "the one call that the library does not wrap")]

use librocksdb_sys::rocksdb_options_t;
use rocksdb::{AsRawPtr, Options};

unsafe extern "C" {
    fn stemdb_fail_on_full_disk(options: *mut rocksdb_options_t);
}

/// Has a flush that finds the disk full fail the writes that wait for it, instead of leaving them to wait for room.
pub(crate) fn fails_writes(options: &mut Options) {
    // SAFETY: RocksDB's options, open and ours alone; the call adds to them and keeps nothing.
    unsafe { stemdb_fail_on_full_disk(options.as_raw_ptr()) };
}
