//! Room for files of a bulk load in the lowest level.
//!
//! RocksDB adds a file to the lowest level if no file there has keys on both sides of it. Where nothing is stored, one
//! nearly always has: the entries of a new index lie between those of another one and the rows. The files would go to
//! the first level then, where so many at a time stop all writes until they have been merged into the lowest one. So
//! that one file is written again as two, before and behind the place.

use super::Latest;
use crate::failure::from_rocksdb;
use crate::layout::LATEST;
use kv::{Error, KeyRange, Result};
use librocksdb_sys as ffi;
use rocksdb::{AsColumnFamilyRef, AsRawPtr, LiveFile, Options};
use std::ffi::{CStr, CString, c_char};

/// RocksDB's default number of levels is seven.
const LOWEST_LEVEL: i32 = 6;

#[expect(unsafe_code, reason = "calls that the library does not wrap")]
mod calls {
    use super::*;

    unsafe extern "C" {
        fn stemdb_allow_cuts(options: *mut ffi::rocksdb_options_t);
        fn stemdb_add_cut(key: *const c_char, bytes: usize);
        fn stemdb_remove_cut(key: *const c_char, bytes: usize);
    }

    pub fn allow_cuts(options: &mut Options) {
        // SAFETY: `options` are RocksDB's, alive, and not shared; the call adds to them and keeps no pointer.
        unsafe { stemdb_allow_cuts(options.as_raw_ptr()) };
    }

    /// A key at which compactions that begin meanwhile begin another file.
    pub struct Cut<'a>(&'a [u8]);

    impl<'a> Cut<'a> {
        pub fn at(key: &'a [u8]) -> Self {
            // SAFETY: the call copies so many bytes, which the slice has.
            unsafe { stemdb_add_cut(key.as_ptr().cast(), key.len()) };
            Self(key)
        }
    }

    impl Drop for Cut<'_> {
        fn drop(&mut self) {
            // SAFETY: as above.
            unsafe { stemdb_remove_cut(self.0.as_ptr().cast(), self.0.len()) };
        }
    }

    /// Writes a file of the lowest level again.
    pub fn rewrite(latest: &Latest, file: &CStr) -> Result<()> {
        let family = latest.family()?;
        let names = [file.as_ptr()];
        let mut error: *mut c_char = std::ptr::null_mut();
        // SAFETY: `latest` keeps the database and the family open, and the name lives until the call is over. What is null
        // is not asked for, or left as it is by default.
        unsafe {
            ffi::rocksdb_compact_files_cf(
                latest.db.as_raw_ptr(),
                family.inner(),
                std::ptr::null(),
                names.as_ptr(),
                names.len(),
                LOWEST_LEVEL,
                -1,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &raw mut error,
            );
        }
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: RocksDB leaves a C string here that is ours to free.
        let text = unsafe {
            let text = CStr::from_ptr(error).to_string_lossy().into_owned();
            ffi::rocksdb_free(error.cast());
            text
        };
        Err(Error::Io(text))
    }
}

/// Compactions of a database with these options can be told where files are to end.
pub(crate) fn allow_cuts(options: &mut Options) {
    calls::allow_cuts(options);
}

/// Has no file of the lowest level lie across a range in which nothing is stored.
pub(super) fn make_gap(latest: &Latest, range: &KeyRange) -> Result<()> {
    let files = latest.db.live_files().map_err(|error| from_rocksdb(&error))?;
    let lies_across = |file: &&LiveFile| {
        file.column_family_name == LATEST
            && file.level == LOWEST_LEVEL
            && file.start_key.as_ref().is_some_and(|key| *key < range.start)
            && file.end_key.as_ref().is_some_and(|key| *key >= range.start)
    };
    let Some(file) = files.iter().find(lies_across) else {
        return Ok(());
    };
    let name = CString::new(file.name.as_str())
        .map_err(|_| Error::Internal("a file's name has a zero byte".into()))?;
    let _cut = calls::Cut::at(&range.start);
    calls::rewrite(latest, &name)
}

#[cfg(test)]
mod tests {
    use crate::storage::RocksStorage;
    use crate::{RocksOptions, open};
    use kv::{Durability, KeyRange, Reader, TxnOptions};
    use std::sync::Arc;

    /// Between the keys of a file that is in the lowest level already.
    #[test]
    fn files_of_a_load_go_to_the_lowest_level() {
        let dir = tempfile::tempdir().unwrap();
        let levels = || {
            let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &Arc::default()).unwrap();
            let files = storage.versions.latest.raw().0.live_files().unwrap();
            let mut levels: Vec<_> = files
                .into_iter()
                .filter(|file| file.column_family_name == crate::layout::LATEST)
                .map(|file| (file.start_key.unwrap()[0], file.level))
                .collect();
            levels.sort_unstable();
            levels
        };
        {
            let store = open(dir.path(), RocksOptions::small()).unwrap();
            for _ in 0..2 {
                let mut txn = store.begin(TxnOptions::default()).unwrap();
                for n in 0..1_000_u32 {
                    txn.put([&b"a"[..], &n.to_be_bytes()].concat(), vec![7; 100])
                        .unwrap();
                    txn.put([&b"z"[..], &n.to_be_bytes()].concat(), vec![7; 100])
                        .unwrap();
                }
                txn.commit(Durability::Sync).unwrap();
                store.flush().unwrap();
            }
        }
        {
            let storage = RocksStorage::open(dir.path(), &RocksOptions::small(), &Arc::default()).unwrap();
            let options = rocksdb::CompactOptions::default();
            storage
                .versions
                .latest
                .compact(&KeyRange::all(), &options)
                .unwrap();
        }
        assert_eq!(levels(), [(b'a', 6)]);
        let store = open(dir.path(), RocksOptions::small()).unwrap();
        let load = store.begin_load(&KeyRange::prefix("m"), None);
        let mut writer = load.writer(KeyRange::prefix("m"));
        for n in 0..1_000_u32 {
            writer
                .put(&[&b"m"[..], &n.to_be_bytes()].concat(), b"value")
                .unwrap();
        }
        writer.close().unwrap();
        load.finish().unwrap();
        let found = store
            .latest()
            .scan_page(&KeyRange::all(), usize::MAX, false)
            .unwrap();
        assert_eq!(found.len(), 3_000);
        drop(store);
        assert_eq!(levels(), [(b'a', 6), (b'm', 6), (b'z', 6)]);
        let store = open(dir.path(), RocksOptions::small()).unwrap();
        assert_eq!(
            store.latest().get(b"m\0\0\0\x07").unwrap().as_deref(),
            Some(&b"value"[..])
        );
    }
}
