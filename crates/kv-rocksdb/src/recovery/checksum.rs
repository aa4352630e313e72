//! RocksDB's checksums, computed by its own code: `checksum.cc`.

#![expect(unsafe_code, reason = "calls of code that the library does not wrap")]

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

unsafe extern "C" {
    fn stemdb_crc32c(bytes: *const c_char, size: usize) -> u32;
    fn stemdb_verify_table(path: *const c_char) -> *mut c_char;
    fn free(pointer: *mut c_char);
}

/// CRC-32C (Castagnoli).
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    // SAFETY: it reads the slice's bytes, and nothing else.
    unsafe { stemdb_crc32c(bytes.as_ptr().cast(), bytes.len()) }
}

/// The stored form of a checksum. RocksDB masks checksums, because the checksum of bytes that contain their
/// own checksum has bad properties (`util/crc32c.h`).
pub(super) fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Reads all blocks of a table file and compares their checksums.
///
/// # Errors
/// RocksDB's description of the damage.
pub(super) fn verify_table(path: &Path) -> Result<(), String> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: `path` is terminated by a zero and outlives the call.
    let wrong = unsafe { stemdb_verify_table(path.as_ptr()) };
    if wrong.is_null() {
        return Ok(());
    }
    // SAFETY: it is a string from `strdup` that only we own, and it is freed once.
    let text = unsafe {
        let text = CStr::from_ptr(wrong).to_string_lossy().into_owned();
        free(wrong);
        text
    };
    Err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("000007.sst");
        assert!(verify_table(&path).is_err());
        std::fs::write(&path, [7; 5_000]).unwrap();
        assert!(verify_table(&path).unwrap_err().contains("Corruption"));
    }
}
