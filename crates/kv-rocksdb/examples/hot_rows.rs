//! The cost of reads where rows have been updated or deleted often: with and without the row cache.
//!
//! Build it with `--release`, then, for exact counts: `valgrind --tool=callgrind --collect-atstart=no
//! --toggle-collect='hot_rows::measured*' target/release/examples/hot_rows scan` (or `get`, `queue`), and
//! once more with a `0` as the second argument, for no row cache. Prints how many rows were measured.

use kv::{Durability, KeyRange, LockOptions, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const ROWS: u64 = 20_000;
const HOT: std::ops::Range<u64> = 9_500..10_500;
const UPDATES_EACH: u64 = 30;
const VALUE_BYTES: usize = 200;
const RUNS: u64 = 500;

fn key(n: u64) -> Vec<u8> {
    [&b"t\x80\0\0\0\0\0\0\x2a_r"[..], &n.to_be_bytes()].concat()
}

fn fill(store: &Store) -> kv::Result<()> {
    let mut txn = store.begin(TxnOptions::default())?;
    for n in 0..ROWS {
        txn.put(key(n), vec![1; VALUE_BYTES])?;
    }
    txn.commit(Durability::Os)?;
    store.flush()?;
    for round in 0..UPDATES_EACH {
        let mut txn = store.begin(TxnOptions::default())?;
        for n in HOT {
            txn.put(key(n), vec![u8::try_from(round).unwrap_or(0); VALUE_BYTES])?;
        }
        txn.commit(Durability::Os)?;
    }
    Ok(())
}

fn scan(reader: &dyn Reader, from: u64, rows: u64) -> kv::Result<u64> {
    let mut seen = 0;
    reader.scan(&KeyRange::new(key(from), key(ROWS)), false, &mut |_, _| {
        seen += 1;
        if seen == rows {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(seen)
}

fn scans(store: &Store) -> kv::Result<u64> {
    let mut rows = 0;
    for n in 0..RUNS {
        rows += scan(&store.snapshot_now()?, HOT.start + n * 7 % 900, 100)?;
    }
    Ok(rows)
}

fn gets(store: &Store) -> kv::Result<u64> {
    let (latest, mut found) = (store.latest(), 0);
    for n in 0..RUNS {
        found += u64::from(latest.get_with(&key(HOT.start + n * 7 % 1_000), &mut |_| {})?);
    }
    Ok(found)
}

/// Removes the first row, again and again.
fn queue(store: &Store) -> kv::Result<u64> {
    let options = LockOptions::exclusive(Duration::from_secs(1));
    for _ in 0..RUNS {
        let mut txn = store.begin(TxnOptions::default())?;
        let first = txn
            .current()
            .scan_page(&KeyRange::new(key(0), key(ROWS)), 1, false)?;
        for (key, _) in first {
            txn.lock(std::slice::from_ref(&key), &options)?;
            txn.delete(key)?;
        }
        txn.commit(Durability::Os)?;
    }
    Ok(RUNS)
}

type Work = fn(&Store) -> kv::Result<u64>;

/// The code that callgrind counts.
#[inline(never)]
fn measured(work: Work, store: &Store) -> kv::Result<u64> {
    work(store)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let dir = tempfile::tempdir()?;
    let mut options = RocksOptions::default();
    if let Some(bytes) = arguments.get(1) {
        options.row_cache_bytes = bytes.parse()?;
    }
    let store = kv_rocksdb::open(dir.path(), options)?;
    fill(&store)?;
    let work: Work = match arguments.first().map(String::as_str) {
        Some("get") => gets,
        Some("queue") => queue,
        _ => scans,
    };
    // To warm up.
    work(&store)?;
    let start = Instant::now();
    let count = measured(work, &store)?;
    println!("{count} in {:?}", start.elapsed());
    Ok(())
}
