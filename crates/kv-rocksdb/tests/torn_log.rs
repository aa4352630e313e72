//! A crash leaves a log whose end is torn. What was synced before the tear is recovered, in complete
//! transactions, without any message. What is torn here was committed without a sync; for the rest see
//! `damaged_log.rs`.
//!
//! A copy of the directory of an open store is what a crash leaves: nothing has been closed.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, KeyRange, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::fs;
use std::path::{Path, PathBuf};

const COMMITS: u32 = 20;

fn open(dir: &Path) -> kv::Result<Store> {
    kv_rocksdb::open(dir, RocksOptions::small())
}

fn commit(store: &Store, n: u32) {
    commit_as(store, n, Durability::Sync);
}

/// Two keys per transaction, which must always be found together.
fn commit_as(store: &Store, n: u32, durability: Durability) {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    txn.put(format!("left{n:04}").into(), vec![b'l'; 100]).unwrap();
    txn.put(format!("right{n:04}").into(), vec![b'r'; 100]).unwrap();
    txn.commit(durability).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The newest log file.
fn log(dir: &Path) -> PathBuf {
    let mut logs: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    logs.pop().unwrap()
}

/// How many transactions were recovered: the first so many, each complete.
fn recovered(dir: &Path) -> u32 {
    let store = open(dir).unwrap();
    let snapshot = store.snapshot_now().unwrap();
    let count = |prefix: &str| {
        let page = snapshot
            .scan_page(&KeyRange::prefix(prefix), usize::MAX, false)
            .unwrap();
        for (n, (key, _)) in page.iter().enumerate() {
            assert_eq!(*key, format!("{prefix}{n:04}").into_bytes());
        }
        u32::try_from(page.len()).unwrap()
    };
    let (left, right) = (count("left"), count("right"));
    assert_eq!(left, right, "half a transaction");
    // The store works like any other.
    commit(&store, 9_999);
    left
}

struct Crashed {
    root: tempfile::TempDir,
    copies: u32,
}

impl Crashed {
    /// A store that has committed and is still open.
    fn new() -> (Self, Store) {
        Self::committed_as(Durability::Sync)
    }

    fn committed_as(durability: Durability) -> (Self, Store) {
        let root = tempfile::tempdir().unwrap();
        let store = open(&root.path().join("original")).unwrap();
        for n in 0..COMMITS {
            commit_as(&store, n, durability);
        }
        (Self { root, copies: 0 }, store)
    }

    fn copy(&mut self) -> PathBuf {
        self.copies += 1;
        let to = self.root.path().join(format!("copy{}", self.copies));
        copy(&self.root.path().join("original"), &to);
        to
    }
}

#[test]
fn everything_acknowledged_is_in_the_log() {
    let (mut crashed, _open) = Crashed::new();
    assert_eq!(recovered(&crashed.copy()), COMMITS);
}

#[test]
fn a_torn_record_costs_only_itself() {
    let (mut crashed, _open) = Crashed::committed_as(Durability::Os);
    let mut last = COMMITS;
    for cut in [1, 5, 50, 200, 400, 1_000, 3_000] {
        let dir = crashed.copy();
        let log = log(&dir);
        let len = fs::metadata(&log).unwrap().len();
        fs::OpenOptions::new()
            .write(true)
            .open(&log)
            .unwrap()
            .set_len(len - cut)
            .unwrap();
        let found = recovered(&dir);
        assert!(
            found < COMMITS && found <= last,
            "{found} after cutting {cut} bytes"
        );
        // A transaction takes some 330 bytes of log.
        assert!(
            u64::from(COMMITS - found) <= cut / 250 + 2,
            "{found} after cutting {cut} bytes"
        );
        last = found;
    }
}

#[test]
fn garbage_and_zeros_behind_the_last_record_are_ignored() {
    let (mut crashed, _open) = Crashed::new();
    for tail in [vec![0; 4_096], vec![0xFF; 100], (0..=255).collect::<Vec<u8>>()] {
        let dir = crashed.copy();
        let log = log(&dir);
        let mut bytes = fs::read(&log).unwrap();
        bytes.extend_from_slice(&tail);
        fs::write(&log, bytes).unwrap();
        assert_eq!(recovered(&dir), COMMITS);
    }
}

/// The machine stops while several commits are being written to the disk, and some of what follows gets there
/// first.
#[test]
fn a_hole_in_what_was_not_synced_ends_recovery_there() {
    let (mut crashed, _open) = Crashed::committed_as(Durability::Os);
    let dir = crashed.copy();
    let whole = fs::read(log(&dir)).unwrap();
    let middle = whole.len() / 2;
    for hole in [1, 11, 512, 2_000] {
        for fill in [0, 0xFF] {
            let dir = crashed.copy();
            let mut bytes = whole.clone();
            bytes[middle..middle + hole].fill(fill);
            fs::write(log(&dir), bytes).unwrap();
            let found = recovered(&dir);
            assert!((5..15).contains(&found), "{found} with a hole of {hole} bytes");
        }
    }
}

/// The zeros after the end of a log with many records.
#[test]
fn zeros_written_ahead_are_no_records() {
    // Some 580 KB of log: more than is written between two checks whether more zeros are needed.
    const MANY: u32 = 2_000;
    let (mut crashed, store) = Crashed::new();
    let mut commits = COMMITS;
    for flush in [false, true, true] {
        if flush {
            // Starts another log.
            store.flush().unwrap();
        }
        for n in commits..commits + MANY {
            commit_as(&store, n, Durability::Os);
        }
        commits += MANY;
        commit(&store, commits);
        commits += 1;
        let dir = crashed.copy();
        assert!(
            fs::read(log(&dir)).unwrap().ends_with(&[0; 4_096]),
            "nothing was written ahead"
        );
        assert_eq!(recovered(&dir), commits);
    }
}
