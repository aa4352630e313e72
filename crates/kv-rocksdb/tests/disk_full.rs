//! A disk that really fills up: a file system of a few megabytes, and a limit on the size of files.

// Clippy does not recognize helpers of tests as tests.
#![allow(clippy::unwrap_used)]

use kv::{Durability, Error, KeyRange, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

fn commit(store: &Store, n: u32) -> kv::Result<()> {
    // Half random bytes, so that compression does not prevent the disk from filling up.
    let mut value: Vec<u8> = Vec::with_capacity(8_000);
    let mut seed = u64::from(n) + 1;
    while value.len() < 8_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        value.extend_from_slice(&seed.to_be_bytes());
    }
    let mut txn = store.begin(TxnOptions::default())?;
    txn.put(format!("k{n:06}").into(), value)?;
    txn.commit(Durability::Sync).map(|_| ())
}

fn rows(store: &Store) -> u32 {
    let rows = store
        .latest()
        .scan_page(&KeyRange::all(), usize::MAX, false)
        .unwrap();
    for (n, (key, value)) in rows.iter().enumerate() {
        assert_eq!(*key, format!("k{n:06}").into_bytes());
        assert_eq!(value.len(), 8_000);
    }
    u32::try_from(rows.len()).unwrap()
}

/// Commits until a commit fails. Returns how many were acknowledged, and the error.
fn fill(store: &Store, from: u32) -> (u32, Error) {
    let mut n = from;
    loop {
        match commit(store, n) {
            Ok(()) => n += 1,
            Err(error) => return (n, error),
        }
        assert!(n < 100_000, "the disk never fills up");
    }
}

/// A small file system, unmounted when this is dropped. `None` without the privilege to mount.
struct SmallDisk(PathBuf, tempfile::TempDir);

impl SmallDisk {
    fn mount(mib: u32) -> Option<Self> {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("disk");
        Self::mount_at(root, dir, mib)
    }

    /// At a directory below `root`.
    fn mount_at(root: tempfile::TempDir, dir: PathBuf, mib: u32) -> Option<Self> {
        fs::create_dir_all(&dir).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(&dir)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(Self(dir, root))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
        let _ = &self.1;
    }
}

fn options(reserve_bytes: u64) -> RocksOptions {
    RocksOptions {
        disk_reserve_bytes: Some(reserve_bytes),
        ..RocksOptions::small()
    }
}

#[test]
fn commits_are_refused_while_the_reserve_lasts_and_go_on_once_there_is_space() {
    let Some(disk) = SmallDisk::mount(64) else {
        println!("skipped: no right to mount a small file system");
        return;
    };
    let store = kv_rocksdb::open(disk.0.join("data"), options(16 << 20)).unwrap();
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![1; 20 << 20]).unwrap();
    let (acknowledged, error) = fill(&store, 0);
    assert!(
        matches!(&error, Error::DiskFull(text) if text.contains("reserve")),
        "{error}"
    );
    assert!(acknowledged > 100);
    assert_eq!(rows(&store), acknowledged, "a refused commit is not there");
    assert!(commit(&store, acknowledged).is_err());
    // Only a transaction that frees space may use it.
    let mut removal = store.begin(TxnOptions::default()).unwrap();
    removal.use_reserve();
    let last = acknowledged - 1;
    removal.delete(format!("k{last:06}").into()).unwrap();
    removal.commit(Durability::Sync).unwrap();
    assert_eq!(rows(&store), last);
    assert!(commit(&store, last).is_err());
    fs::remove_file(&ballast).unwrap();
    // After that, commits succeed again without a restart.
    let (more, _) = fill(&store, last);
    assert!(more > acknowledged + 100);
    assert_eq!(rows(&store), more);
    drop(store);
    let store = kv_rocksdb::open(disk.0.join("data"), options(16 << 20)).unwrap();
    assert_eq!(rows(&store), more);
}

#[test]
fn without_a_reserve_nothing_acknowledged_is_lost() {
    let Some(disk) = SmallDisk::mount(24) else {
        println!("skipped: no right to mount a small file system");
        return;
    };
    let store = kv_rocksdb::open(disk.0.join("data"), options(0)).unwrap();
    let (acknowledged, error) = fill(&store, 0);
    assert_stopped(&store, acknowledged, &error);
    drop(store);
    // Moves to a larger disk, as an operator would.
    let moved = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(disk.0.join("data")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), moved.path().join(entry.file_name())).unwrap();
    }
    let store = kv_rocksdb::open(moved.path(), options(0)).unwrap();
    let found = rows(&store);
    assert!(
        found == acknowledged || found == acknowledged + 1,
        "{found} of {acknowledged}"
    );
    commit(&store, found).unwrap();
}

/// Bytes that do not compress.
fn noise(seed: u32, bytes: usize) -> Vec<u8> {
    let mut state = u64::from(seed) | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Runs `work`, which would wait forever if writers waited for space.
fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = channel();
    thread::spawn(move || sender.send(work()));
    result
        .recv_timeout(Duration::from_secs(60))
        .expect("writers wait for space")
}

/// A compaction meets the full disk before any flush does. Commits go on while flushes have space, and fail
/// when they have none.
#[test]
fn a_compaction_without_space_leaves_no_writer_waiting() {
    const DISK_MIB: u32 = 96;
    const LEFT_BYTES: u64 = 12 << 20;
    for space_returns in [true, false] {
        let Some(disk) = SmallDisk::mount(DISK_MIB) else {
            println!("skipped: no right to mount a small file system");
            return;
        };
        let store = kv_rocksdb::open(disk.0.join("data"), options(0)).unwrap();
        let errors = |store: &Store| {
            let stats = store.stats();
            let of_name = |name: &str| stats.iter().find(|stat| stat.0 == name).unwrap().1;
            of_name("background_errors_total")
        };
        // Seven files of the first level that overlap; with the eighth they are compacted.
        let write_file = |store: &Store, file: u32| {
            for row in 0..50 {
                let mut txn = store.begin(TxnOptions::default()).unwrap();
                let value = noise(file * 1_000 + row, 64 << 10);
                txn.put(format!("row{row:02}/{file}").into_bytes(), value)
                    .unwrap();
                txn.commit(Durability::Os).unwrap();
            }
            store.flush().unwrap();
        };
        (0..7).for_each(|file| write_file(&store, file));
        let free = {
            let stat = rustix::fs::statvfs(&disk.0).unwrap();
            stat.f_bavail * stat.f_frsize
        };
        let ballast = disk.0.join("ballast");
        fs::write(&ballast, vec![1; (free - LEFT_BYTES) as usize]).unwrap();
        write_file(&store, 7);
        let store = within_a_minute(move || {
            while errors(&store) == 0.0 {
                thread::sleep(Duration::from_millis(10));
            }
            store
        });
        commit(&store, 0).unwrap();
        if space_returns {
            fs::remove_file(&ballast).unwrap();
            within_a_minute(move || {
                (1..1_000).for_each(|n| commit(&store, n).unwrap());
                store.flush().unwrap();
            });
        } else {
            let (_, error) = within_a_minute(move || fill(&store, 1));
            assert!(matches!(error, Error::Undetermined(_)), "{error}");
        }
    }
}

/// The disk of the superseded versions, which have a RocksDB of their own, is full: commits that would have
/// to make room fail, and go on once no snapshot needs the versions any longer.
#[test]
fn superseded_versions_without_space_leave_no_writer_waiting() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    let Some(disk) = SmallDisk::mount_at(root, data.join("history"), 40) else {
        println!("skipped: no right to mount a small file system");
        return;
    };
    let store = kv_rocksdb::open(&data, options(0)).unwrap();
    let update = |store: &Store, n: u32| {
        let mut txn = store.begin(TxnOptions::default())?;
        txn.put(b"row".to_vec(), noise(n, 256 << 10))?;
        txn.commit(Durability::Os).map(drop)
    };
    update(&store, 0).unwrap();
    let snapshot = store.snapshot_now().unwrap();
    let (store, snapshot, count) = within_a_minute(move || {
        let mut n = 1;
        let error = loop {
            match update(&store, n) {
                Ok(()) => n += 1,
                Err(error) => break error,
            }
            assert!(n < 10_000, "the disk never fills up");
        };
        assert!(matches!(error, Error::DiskFull(_) | Error::Io(_)), "{error}");
        (store, snapshot, n)
    });
    assert!(count > 64, "{count}");
    assert_eq!(snapshot.get(b"row").unwrap(), Some(noise(0, 256 << 10)));
    drop(snapshot);
    within_a_minute(move || {
        store.set_gc_age(Duration::ZERO);
        store.run_gc().unwrap();
        (0..100).for_each(|n| update(&store, n).unwrap());
    });
    drop(disk);
}

/// The failed commit's outcome is unknown, everything acknowledged can be read, and writes are refused from
/// then on.
fn assert_stopped(store: &Store, acknowledged: u32, error: &Error) {
    assert!(matches!(error, Error::Undetermined(_)), "{error}");
    let found = rows(store);
    assert!(
        found == acknowledged || found == acknowledged + 1,
        "{found} of {acknowledged}"
    );
    let refused = commit(store, acknowledged + 1);
    assert!(
        matches!(&refused, Err(Error::StoreReadOnly(text)) if text.contains("restart")),
        "{refused:?}"
    );
    assert_eq!(rows(store), found);
    assert!(store.flush().is_err());
}

const DIR_VARIABLE: &str = "STEMDB_TEST_LIMITED_DIR";

/// Runs under a limit on the size of files; does nothing when run as a test of its own.
#[test]
fn limited_process() {
    if let Some(dir) = env::var_os(DIR_VARIABLE) {
        let dir = Path::new(&dir);
        let store = kv_rocksdb::open(dir, options(0)).unwrap();
        let (acknowledged, error) = fill(&store, 0);
        assert_stopped(&store, acknowledged, &error);
        fs::write(dir.join("acknowledged"), acknowledged.to_string()).unwrap();
    }
}

#[test]
fn a_log_that_cannot_grow_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    // 2,048 blocks of 512 bytes; without the signal, the write that goes beyond fails.
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 2048; exec \"$0\" --exact limited_process",
        ])
        .arg(env::current_exe().unwrap())
        .env(DIR_VARIABLE, dir.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let acknowledged: u32 = fs::read_to_string(dir.path().join("acknowledged"))
        .unwrap()
        .parse()
        .unwrap();
    assert!(acknowledged > 50, "{acknowledged}");
    let store = kv_rocksdb::open(dir.path(), options(0)).unwrap();
    let found = rows(&store);
    assert!(
        found == acknowledged || found == acknowledged + 1,
        "{found} of {acknowledged}"
    );
    commit(&store, found).unwrap();
}
