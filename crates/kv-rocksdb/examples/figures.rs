//! The cost of each part: run it before and after a change, on the same machine.
//!
//! `cargo run --release -p stemdb-kv-rocksdb --example figures [DIRECTORY]`

use kv::{Durability, KeyRange, LockOptions, Reader, Store, TxnOptions};
use kv_rocksdb::RocksOptions;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROWS: u64 = 300_000;
const VALUE_BYTES: usize = 200;

fn key(n: u64) -> Vec<u8> {
    [&b"t\x80\0\0\0\0\0\0\x2a_r"[..], &n.to_be_bytes()].concat()
}

/// The same pseudo-random rows each time.
fn row(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % ROWS
}

/// CPU time of this thread, to which other work on the machine adds nothing.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn report(what: &str, count: u64, work: impl FnOnce()) {
    let (start, start_cpu) = (Instant::now(), cpu_seconds());
    work();
    let each = |seconds: f64| seconds / count as f64 * 1e6;
    let (cpu, wall) = (
        each(cpu_seconds() - start_cpu),
        each(start.elapsed().as_secs_f64()),
    );
    println!("{what:<52} {cpu:>10.3} us of CPU, {wall:>10.3} us");
}

fn load(store: &Store) -> kv::Result<()> {
    for chunk in 0..ROWS / 1_000 {
        let mut txn = store.begin(TxnOptions::default())?;
        for n in chunk * 1_000..(chunk + 1) * 1_000 {
            txn.put(key(n), vec![u8::try_from(n % 251).unwrap_or(0); VALUE_BYTES])?;
        }
        txn.commit(Durability::Os)?;
    }
    store.flush()
}

fn update(store: &Store, n: u64, durability: Durability, options: &LockOptions) -> kv::Result<()> {
    let mut txn = store.begin(TxnOptions::default())?;
    let keys = [key(n)];
    txn.lock(&keys, options)?;
    let [key] = keys;
    txn.put(key, vec![7; VALUE_BYTES])?;
    txn.commit(durability).map(|_| ())
}

fn count_rows(reader: &dyn Reader, range: &KeyRange) -> kv::Result<u64> {
    let mut rows = 0;
    reader.scan(range, false, &mut |_, value| {
        rows += u64::from(!value.is_empty());
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn reads(store: &Store) -> kv::Result<()> {
    const READS: u64 = 200_000;
    report("current_ts", 1_000_000, || {
        for _ in 0..1_000_000 {
            let _ = store.current_ts();
        }
    });
    report("begin and roll back", READS, || {
        for _ in 0..READS {
            let _ = store.begin(TxnOptions::default());
        }
    });
    let latest = store.latest();
    let mut bytes = 0;
    report("get, newest", READS, || {
        for n in 0..READS {
            let _ = latest.get_with(&key(row(n)), &mut |value| bytes += value.len());
        }
    });
    report("get, key that does not exist", READS, || {
        for n in 0..READS {
            let _ = latest.get_with(&key(ROWS + row(n)), &mut |value| bytes += value.len());
        }
    });
    report("snapshot and get", READS, || {
        for n in 0..READS {
            if let Ok(snapshot) = store.snapshot_now() {
                let _ = snapshot.get_with(&key(row(n)), &mut |value| bytes += value.len());
            }
        }
    });
    report("batch get, 10 keys, each", READS, || {
        for n in 0..READS / 10 {
            let keys: Vec<_> = (0..10).map(|i| key(row(n * 10 + i))).collect();
            let _ = latest.batch_get_with(&keys, &mut |_, value| bytes += value.map_or(0, <[u8]>::len));
        }
    });
    report("scan, each row", ROWS, || {
        let _ = count_rows(&latest, &KeyRange::all());
    });
    report("scan of 10 rows", 20_000, || {
        for n in 0..20_000 {
            let _ = count_rows(&latest, &KeyRange::new(key(row(n)), key(row(n) + 10)));
        }
    });
    Ok(())
}

fn writes(store: &Store) -> kv::Result<()> {
    let options = LockOptions::exclusive(Duration::from_secs(1));
    report("transaction that locks one key", 200_000, || {
        for n in 0..200_000 {
            if let Ok(mut txn) = store.begin(TxnOptions::default()) {
                let _ = txn.lock_only(&[key(n)], &options);
            }
        }
    });
    let mut txn = store.begin(TxnOptions::default())?;
    report("each of 500,000 locks of one transaction", 500_000, || {
        for n in 0..500 {
            let keys: Vec<_> = (0..1_000).map(|i| key(n * 1_000 + i)).collect();
            let _ = txn.lock_only(&keys, &options);
        }
        txn.rollback();
    });
    let old = store.snapshot_now()?;
    report("update of one row, not synced", 50_000, || {
        for n in 0..50_000 {
            let _ = update(store, row(n), Durability::Os, &options);
        }
    });
    report("get of a superseded version", 50_000, || {
        for n in 0..50_000 {
            let _ = old.get_with(&key(row(n)), &mut |_| {});
        }
    });
    report("scan over superseded versions, each row", ROWS, || {
        let _ = count_rows(&old, &KeyRange::all());
    });
    for threads in [1, 16, 64] {
        let done = Arc::new(AtomicU64::new(0));
        let start = Instant::now();
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (store, done, options) = (store.clone(), Arc::clone(&done), options.clone());
                thread::spawn(move || {
                    let mut n = worker * 1_000_003;
                    while start.elapsed() < Duration::from_secs(3) {
                        n += 1;
                        if update(&store, row(n), Durability::Sync, &options).is_ok() {
                            done.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            let _ = worker.join();
        }
        let rate = done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
        println!(
            "{:<52} {rate:>10.0} /s",
            format!("synced updates of one row, {threads} threads")
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "var/figures".into());
    let _ = std::fs::remove_dir_all(&dir);
    let store = kv_rocksdb::open(&dir, RocksOptions::default())?;
    let start = Instant::now();
    load(&store)?;
    println!(
        "{ROWS} rows of {VALUE_BYTES} bytes loaded in {:?}",
        start.elapsed()
    );
    reads(&store)?;
    writes(&store)?;
    for (name, value) in store.stats() {
        println!("{name:<52} {value:>10}");
    }
    drop(store);
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
