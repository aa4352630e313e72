//! RocksDB's own estimate of how many bytes ranges take.

use super::Latest;
use kv::{Error, Result};
use librocksdb_sys as ffi;
use rocksdb::{AsColumnFamilyRef, AsRawPtr};
use std::ffi::{CStr, c_char, c_int};

/// What to measure: flags.
pub(super) const IN_MEMORY: u8 = ffi::rocksdb_size_approximation_flags_include_memtable as u8;
pub(super) const IN_FILES: u8 = ffi::rocksdb_size_approximation_flags_include_files as u8;

/// Bytes of each range. By RocksDB's C interface: that of the `rocksdb` crate measures files only.
#[expect(unsafe_code, reason = "calls of RocksDB's C interface")]
pub(super) fn measure(latest: &Latest, ranges: &[(&[u8], &[u8])], what: u8) -> Result<Vec<u64>> {
    let family = latest.family()?;
    let starts: Vec<*const c_char> = ranges.iter().map(|(start, _)| start.as_ptr().cast()).collect();
    let start_bytes: Vec<usize> = ranges.iter().map(|(start, _)| start.len()).collect();
    let ends: Vec<*const c_char> = ranges.iter().map(|(_, end)| end.as_ptr().cast()).collect();
    let end_bytes: Vec<usize> = ranges.iter().map(|(_, end)| end.len()).collect();
    let mut sizes = vec![0; ranges.len()];
    let mut error: *mut c_char = std::ptr::null_mut();
    let count = c_int::try_from(ranges.len())
        .map_err(|_| Error::Internal(format!("{} ranges to measure", ranges.len())))?;
    // SAFETY: `latest` keeps the database and the family open. The arrays have `count` elements each; they,
    // and the keys that they point to, live until the call has returned, and the call keeps no reference to
    // them.
    unsafe {
        ffi::rocksdb_approximate_sizes_cf_with_flags(
            latest.db.as_raw_ptr(),
            family.inner(),
            count,
            starts.as_ptr(),
            start_bytes.as_ptr(),
            ends.as_ptr(),
            end_bytes.as_ptr(),
            what,
            sizes.as_mut_ptr(),
            &raw mut error,
        );
    }
    if error.is_null() {
        return Ok(sizes);
    }
    // SAFETY: RocksDB leaves a C string here that is ours to free.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        ffi::rocksdb_free(error.cast());
        text
    };
    Err(Error::Io(text))
}
/// [`measure`] of one range.
pub(super) fn measure_one(latest: &Latest, start: &[u8], end: &[u8], what: u8) -> Result<u64> {
    Ok(measure(latest, &[(start, end)], what)?.into_iter().sum())
}
