//! Damage to what was acknowledged: the store is opened with all of it, or refused with an error that says
//! what is lost.
//!
//! A copy of the directory of an open store is what a crash of the process leaves.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, Error, KeyRange, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use kv_rocksdb::recovery::{Checked, Repaired, check, repair};
use std::fs;
use std::path::{Path, PathBuf};

const COMMITS: u32 = 40;

fn open(dir: &Path) -> kv::Result<Store> {
    kv_rocksdb::open(dir, RocksOptions::small())
}

fn commit(store: &Store, n: u32, bytes: usize, durability: Durability) {
    let mut txn = store.begin(TxnOptions::default()).unwrap();
    txn.put(format!("left{n:04}").into(), vec![b'l'; bytes]).unwrap();
    txn.put(format!("right{n:04}").into(), vec![b'r'; bytes]).unwrap();
    txn.commit(durability).unwrap();
}

/// How many transactions the store has: the first so many, each complete. An error of any read is an error.
fn rows(store: &Store) -> kv::Result<u32> {
    let snapshot = store.snapshot_now()?;
    let mut counts = [0, 0];
    for (count, prefix) in counts.iter_mut().zip(["left", "right"]) {
        let page = snapshot.scan_page(&KeyRange::prefix(prefix), usize::MAX, false)?;
        for (n, (key, value)) in page.iter().enumerate() {
            assert_eq!(*key, format!("{prefix}{n:04}").into_bytes());
            assert!(value.iter().all(|byte| *byte == prefix.as_bytes()[0]));
            *count += 1;
        }
    }
    assert_eq!(counts[0], counts[1], "half a transaction");
    Ok(counts[0])
}

/// Opens a store that may be damaged. The error says so.
fn rows_of(dir: &Path) -> Result<u32, String> {
    match open(dir).and_then(|store| rows(&store)) {
        Ok(rows) => Ok(rows),
        Err(Error::Corrupt(text) | Error::Unavailable(text) | Error::Io(text)) => Err(text),
        Err(other) => panic!("{other:?}"),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "LOCK" && entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

fn files(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn newest_log(dir: &Path) -> PathBuf {
    files(dir, "log").pop().unwrap()
}

fn manifest(dir: &Path) -> PathBuf {
    let name = fs::read_to_string(dir.join("CURRENT")).unwrap();
    dir.join(name.trim_end())
}

/// A store as a crash of its process leaves it.
struct Crashed {
    root: tempfile::TempDir,
    copies: u32,
}

impl Crashed {
    fn new(bytes: usize, durability: Durability) -> Self {
        Self::with(|store| {
            for n in 0..COMMITS {
                commit(store, n, bytes, durability);
            }
        })
    }

    fn with(fill: impl FnOnce(&Store)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = open(&root.path().join("open")).unwrap();
        fill(&store);
        copy(&root.path().join("open"), &root.path().join("crashed"));
        Self { root, copies: 0 }
    }

    fn dir(&mut self) -> PathBuf {
        self.copies += 1;
        let to = self.root.path().join(format!("copy{}", self.copies));
        copy(&self.root.path().join("crashed"), &to);
        to
    }

    /// The newest log without preallocated zeros.
    fn log_bytes(&self) -> Vec<u8> {
        let mut bytes = fs::read(newest_log(&self.root.path().join("crashed"))).unwrap();
        // A record ends with a number of eight bytes, the lowest byte first.
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 8;
        bytes.truncate(end);
        bytes
    }

    /// Opens it with another log, and with or without the file `SYNCED`.
    fn with_log(&mut self, log: &[u8], has_mark: bool) -> Result<u32, String> {
        let dir = self.dir();
        fs::write(newest_log(&dir), log).unwrap();
        if !has_mark {
            fs::remove_file(dir.join("SYNCED")).unwrap();
        }
        let found = rows_of(&dir);
        fs::remove_dir_all(dir).unwrap();
        found
    }
}

/// Offsets in the headers and payloads of the first records, those in the middle, and the last.
fn places(bytes: usize) -> Vec<usize> {
    let around = |at: usize| (0..24).map(move |step| at + step);
    let steps = (0..bytes).step_by(bytes / 24);
    let mut places: Vec<_> = around(0)
        .chain(around(bytes / 2))
        .chain(around(bytes - 24))
        .chain(steps)
        .collect();
    places.retain(|at| *at < bytes);
    places.sort_unstable();
    places.dedup();
    places
}

#[test]
fn a_flipped_bit_anywhere_loses_nothing_in_silence() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    let whole = crashed.log_bytes();
    assert_eq!(crashed.with_log(&whole, true), Ok(COMMITS));
    let mut refused = 0;
    for at in places(whole.len()) {
        let mut log = whole.clone();
        log[at] ^= 1 << (at % 8);
        match crashed.with_log(&log, true) {
            Ok(rows) => assert_eq!(rows, COMMITS, "byte {at}"),
            Err(text) => {
                assert!(
                    text.contains(".log is damaged at byte") && text.contains("stemdb repair"),
                    "{text}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

/// A store of an earlier program, or one whose file `SYNCED` had not reached the disk: each record says what
/// was synced before it.
#[test]
fn without_the_mark_the_log_knows_all_but_its_last_record() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    let whole = crashed.log_bytes();
    assert_eq!(crashed.with_log(&whole, false), Ok(COMMITS));
    let last = whole.len() - whole.len() / COMMITS as usize;
    for at in places(whole.len()) {
        let mut log = whole.clone();
        log[at] ^= 1 << (at % 8);
        match crashed.with_log(&log, false) {
            Ok(rows) if at < last => assert_eq!(rows, COMMITS, "byte {at}"),
            Ok(rows) => assert!(rows >= COMMITS - 1, "byte {at}: {rows}"),
            Err(text) => assert!(text.contains("records after the damage are undamaged"), "{text}"),
        }
    }
}

#[test]
fn a_log_cut_off_is_refused() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    let whole = crashed.log_bytes();
    for kept in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        let text = crashed.with_log(&whole[..kept], true).unwrap_err();
        assert!(text.contains("Committed transactions"), "{text}");
    }
}

#[test]
fn zeros_in_the_middle_are_refused() {
    let mut crashed = Crashed::new(4_000, Durability::Sync);
    let whole = crashed.log_bytes();
    assert!(whole.len() > 8 * (32 << 10));
    for (from, bytes) in [
        (0, 32 << 10),
        (64 << 10, 32 << 10),
        (65 << 10, 4 << 10),
        (100_000, 512),
    ] {
        for has_mark in [true, false] {
            let mut log = whole.clone();
            log[from..from + bytes].fill(0);
            let text = crashed.with_log(&log, has_mark).unwrap_err();
            assert!(text.contains("Committed transactions"), "{text}");
        }
    }
}

/// Damage to records that are longer than a block.
#[test]
fn a_record_of_many_blocks_is_no_exception() {
    let mut crashed = Crashed::with(|store| {
        for n in 0..4 {
            commit(store, n, 80_000, Durability::Sync);
        }
    });
    let whole = crashed.log_bytes();
    assert_eq!(crashed.with_log(&whole, true), Ok(4));
    for at in (0..whole.len()).step_by(30_001) {
        let mut log = whole.clone();
        log[at] ^= 0x40;
        let text = crashed.with_log(&log, true).unwrap_err();
        assert!(text.contains("Committed transactions"), "{text}");
    }
}

/// Commits without a sync may be lost when the machine stops, but only all from some point on.
#[test]
fn what_was_not_synced_may_go_but_nothing_before_it() {
    const SYNCED: u32 = 10;
    let mut crashed = Crashed::with(|store| {
        for n in 0..COMMITS {
            let durability = if n < SYNCED {
                Durability::Sync
            } else {
                Durability::Os
            };
            commit(store, n, 100, durability);
        }
    });
    let whole = crashed.log_bytes();
    let (mut refused, mut fewer) = (0, 0);
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        for has_mark in [true, false] {
            let mut log = whole.clone();
            log[at] ^= 0x10;
            match crashed.with_log(&log, has_mark) {
                Ok(rows) => {
                    assert!(rows >= SYNCED, "byte {at}: {rows}");
                    fewer += u32::from(rows < COMMITS);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 10 && fewer > 10, "{refused} {fewer}");
}

#[test]
fn a_missing_log_is_refused() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    for has_mark in [true, false] {
        let dir = crashed.dir();
        for log in files(&dir, "log") {
            fs::remove_file(log).unwrap();
        }
        if !has_mark {
            fs::remove_file(dir.join("SYNCED")).unwrap();
        }
        let text = rows_of(&dir).unwrap_err();
        assert!(text.contains(".log is missing"), "{text}");
    }
}

/// All of it is in tables, and more in the log.
fn flushed() -> Crashed {
    Crashed::with(|store| {
        for n in 0..COMMITS {
            commit(store, n, 1_000, Durability::Sync);
            if n % 13 == 12 {
                store.flush().unwrap();
            }
        }
    })
}

#[test]
fn a_log_that_is_missing_after_a_flush_is_refused() {
    let mut crashed = flushed();
    let dir = crashed.dir();
    assert_eq!(rows_of(&dir), Ok(COMMITS));
    let dir = crashed.dir();
    fs::remove_file(newest_log(&dir)).unwrap();
    let text = rows_of(&dir).unwrap_err();
    assert!(text.contains(".log is missing"), "{text}");
}

#[test]
fn everything_flushed_needs_no_log_of_before() {
    let mut crashed = Crashed::with(|store| {
        for n in 0..COMMITS {
            commit(store, n, 100, Durability::Sync);
        }
        store.flush().unwrap();
    });
    let dir = crashed.dir();
    assert_eq!(rows_of(&dir), Ok(COMMITS));
    // Again, with what closing it has left.
    assert_eq!(rows_of(&dir), Ok(COMMITS));
    // The contents of an old log do not matter.
    let dir = crashed.dir();
    let logs = files(&dir, "log");
    for log in &logs[..logs.len() - 1] {
        fs::write(log, b"what").unwrap();
    }
    assert_eq!(rows_of(&dir), Ok(COMMITS));
}

#[test]
fn damaged_tables_are_never_wrong_rows() {
    let mut crashed = flushed();
    let tables = files(&crashed.dir(), "sst");
    assert!(tables.len() >= 3, "{tables:?}");
    let mut refused = 0;
    for table in &tables {
        let name = table.file_name().unwrap();
        let whole = fs::read(table).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 12) {
            let dir = crashed.dir();
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(dir.join(name), bytes).unwrap();
            let found = check(&dir).unwrap();
            match rows_of(&dir) {
                Ok(rows) => assert_eq!(rows, COMMITS),
                Err(_) => {
                    assert!(!found.damage.is_empty(), "{name:?}, byte {at}");
                    refused += 1;
                }
            }
        }
        let dir = crashed.dir();
        fs::write(dir.join(name), &whole[..whole.len() - 1]).unwrap();
        let text = rows_of(&dir).unwrap_err();
        assert!(text.contains("bytes, and had"), "{text}");
        fs::remove_file(dir.join(name)).unwrap();
        let text = rows_of(&dir).unwrap_err();
        assert!(text.contains(".sst is missing"), "{text}");
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn a_damaged_manifest_is_refused() {
    let mut crashed = flushed();
    let dir = crashed.dir();
    let name = manifest(&dir).file_name().unwrap().to_owned();
    let whole = fs::read(dir.join(&name)).unwrap();
    let mut refused = 0;
    let cuts = (0..whole.len()).step_by(whole.len() / 15).map(|end| (end, true));
    let flips = (0..whole.len()).step_by(whole.len() / 30).map(|at| (at, false));
    for (at, is_cut) in cuts.chain(flips) {
        let dir = crashed.dir();
        let mut bytes = whole.clone();
        if is_cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 4;
        }
        fs::write(dir.join(&name), bytes).unwrap();
        match rows_of(&dir) {
            Ok(rows) => assert_eq!(rows, COMMITS, "byte {at}, {is_cut}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 20, "{refused}");
    let dir = crashed.dir();
    fs::remove_file(dir.join(&name)).unwrap();
    assert!(rows_of(&dir).unwrap_err().contains("is missing"));
}

/// RocksDB would create a new store from what is left, and remove all tables.
#[test]
fn without_current_nothing_is_made_anew() {
    let mut crashed = flushed();
    let dir = crashed.dir();
    let tables = files(&dir, "sst");
    fs::remove_file(dir.join("CURRENT")).unwrap();
    assert!(rows_of(&dir).unwrap_err().contains("CURRENT"));
    for log in files(&dir, "log") {
        fs::remove_file(log).unwrap();
    }
    assert!(rows_of(&dir).unwrap_err().contains("CURRENT"));
    assert_eq!(files(&dir, "sst"), tables);
    for text in ["", "MANIFEST-", "MANIFEST-000001", "what\n", "MANIFEST-999999\n"] {
        fs::write(dir.join("CURRENT"), text).unwrap();
        assert!(rows_of(&dir).unwrap_err().contains("CURRENT"), "{text}");
    }
}

fn snapshot_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn check_reads_everything_and_changes_nothing() {
    let mut crashed = flushed();
    let dir = crashed.dir();
    let before = snapshot_of(&dir);
    let Checked { facts, damage } = check(&dir).unwrap();
    assert_eq!(damage, [""; 0]);
    let facts = facts.join("\n");
    for fact in [
        "logs: 1 needed, 1 records",
        "every block read",
        "format: 2",
        "entries: 80, and 0 deletions",
    ] {
        assert!(facts.contains(fact), "{facts}");
    }
    assert!(snapshot_of(&dir) == before, "check has changed a file");

    let log = newest_log(&dir);
    let mut bytes = fs::read(&log).unwrap();
    bytes[100] ^= 1;
    fs::write(&log, bytes).unwrap();
    let before = snapshot_of(&dir);
    let checked = check(&dir).unwrap();
    assert!(
        checked.damage[0].contains("is damaged at byte 0: a record whose checksum is wrong"),
        "{checked:?}"
    );
    assert!(snapshot_of(&dir) == before, "check has changed a file");
}

#[test]
fn check_refuses_a_store_that_is_open() {
    let root = tempfile::tempdir().unwrap();
    let store = open(root.path()).unwrap();
    commit(&store, 0, 10, Durability::Sync);
    let expected = Error::Unavailable(format!("another process is using {}", root.path().display()));
    assert_eq!(check(root.path()), Err(expected.clone()));
    assert_eq!(repair(root.path(), true), Err(expected));
    assert_eq!(rows(&store), Ok(1));
    drop(store);
    assert_eq!(check(root.path()).unwrap().damage, [""; 0]);
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(check(empty.path()), Err(Error::Unavailable(_))));
    assert!(matches!(
        check(&empty.path().join("not")),
        Err(Error::Unavailable(_))
    ));
}

#[test]
fn repair_gives_up_what_is_lost_if_that_is_accepted() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    let dir = crashed.dir();
    assert_eq!(repair(&dir, true), Ok(Repaired::NothingToDo));
    let log = newest_log(&dir);
    let mut damaged = fs::read(&log).unwrap();
    let middle = crashed.log_bytes().len() / 2;
    damaged[middle] ^= 1;
    fs::write(&log, &damaged).unwrap();
    let before = snapshot_of(&dir);
    let Ok(Repaired::Refused { loss }) = repair(&dir, false) else {
        panic!("not refused")
    };
    assert!(loss.contains("changes of rows"), "{loss}");
    assert!(snapshot_of(&dir) == before, "it has changed a file");
    assert!(rows_of(&dir).is_err());
    let Ok(Repaired::Done { copies, .. }) = repair(&dir, true) else {
        panic!("not done")
    };
    assert_eq!(fs::read(copies.join(log.file_name().unwrap())).unwrap(), damaged);
    assert_eq!(repair(&dir, true), Ok(Repaired::NothingToDo));
    let store = open(&dir).unwrap();
    let left = rows(&store).unwrap();
    assert!((10..30).contains(&left), "{left}");
    for n in left..COMMITS {
        commit(&store, n, 100, Durability::Sync);
    }
    drop(store);
    assert_eq!(check(&dir).unwrap().damage, [""; 0]);
    assert_eq!(rows_of(&dir), Ok(COMMITS));
}

#[test]
fn repair_of_a_missing_log_leaves_what_tables_have() {
    let mut crashed = flushed();
    let dir = crashed.dir();
    for log in files(&dir, "log") {
        fs::remove_file(log).unwrap();
    }
    assert!(matches!(repair(&dir, false), Ok(Repaired::Refused { .. })));
    assert!(matches!(repair(&dir, true), Ok(Repaired::Done { .. })));
    assert_eq!(rows_of(&dir), Ok(39));
    assert_eq!(check(&dir).unwrap().damage, [""; 0]);
}

/// Each start writes a new log and a new `SYNCED`. A crash may come between any two of them.
#[test]
fn a_store_opened_many_times_stays_sound() {
    let mut crashed = Crashed::new(100, Durability::Sync);
    let dir = crashed.dir();
    for round in 0..6 {
        let store = open(&dir).unwrap();
        assert_eq!(rows(&store), Ok(COMMITS + round));
        // As it is right after the start, before any commit.
        let copied = crashed.root.path().join(format!("round{round}"));
        copy(&dir, &copied);
        let before = fs::read(copied.join("SYNCED")).unwrap();
        assert_eq!(rows_of(&copied), Ok(COMMITS + round));
        commit(&store, COMMITS + round, 100, Durability::Sync);
        if round % 2 == 0 {
            store.flush().unwrap();
        }
        // The `SYNCED` from that time, as if no later one had reached the disk.
        let copied = crashed.root.path().join(format!("round{round}again"));
        copy(&dir, &copied);
        fs::write(copied.join("SYNCED"), before).unwrap();
        assert_eq!(rows_of(&copied), Ok(COMMITS + round + 1));
        // No `SYNCED`, as an earlier program leaves it.
        let copied = crashed.root.path().join(format!("round{round}without"));
        copy(&dir, &copied);
        fs::remove_file(copied.join("SYNCED")).unwrap();
        assert_eq!(rows_of(&copied), Ok(COMMITS + round + 1));
    }
}
