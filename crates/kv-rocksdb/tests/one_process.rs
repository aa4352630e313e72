//! A directory belongs to one process at a time.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Error, Reader, Store};
use kv_rocksdb::RocksOptions;
use std::env;
use std::path::Path;
use std::process::Command;

const DIR_VARIABLE: &str = "STEMDB_TEST_OPEN_DIR";

fn open(dir: &Path) -> kv::Result<Store> {
    kv_rocksdb::open(dir, RocksOptions::small())
}

fn assert_refused(outcome: kv::Result<Store>, dir: &Path) {
    let expected = Error::Unavailable(format!("another process is using {}", dir.display()));
    assert_eq!(outcome.map(|_| ()), Err(expected));
}

/// Runs as the other process; does nothing when run as a test of its own.
#[test]
fn other_process() {
    if let Some(dir) = env::var_os(DIR_VARIABLE) {
        let dir = Path::new(&dir);
        assert_refused(open(dir), dir);
    }
}

#[test]
fn a_second_opener_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    assert_refused(open(dir.path()), dir.path());
    let other = Command::new(env::current_exe().unwrap())
        .args(["--exact", "other_process"])
        .env(DIR_VARIABLE, dir.path())
        .output()
        .unwrap();
    assert!(
        other.status.success(),
        "{}",
        String::from_utf8_lossy(&other.stdout)
    );
    assert_eq!(
        store.latest().get(b"a"),
        Ok(None),
        "the first one is not disturbed"
    );
    drop(store);
    assert!(open(dir.path()).is_ok());
}

#[test]
fn an_unusable_directory_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"not a directory").unwrap();
    let error = open(&file).unwrap_err();
    assert!(
        matches!(&error, Error::Unavailable(text) if text.contains("file")),
        "{error}"
    );
}
