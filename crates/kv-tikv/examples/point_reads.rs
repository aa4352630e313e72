//! Measures the CPU time that a point read takes in the client: `cargo run --release -p stemdb-kv-tikv
//! --example point_reads -- URL THREADS`.

use kv::{Durability, Reader, TxnOptions};
use std::time::{Duration, Instant};

fn cpu() -> Duration {
    // utime and stime, in ticks of 10 ms.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

fn main() -> kv::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or_else(|| "tikv://127.0.0.1:2379".into());
    let threads: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let store = kv_tikv::open_url(&url)?;
    let mut txn = store.begin(TxnOptions::default())?;
    for n in 0..1_000 {
        txn.put(format!("row{n:04}").into(), vec![b'x'; 200])?;
    }
    txn.commit(Durability::Sync)?;
    let (cpu_before, start) = (cpu(), Instant::now());
    let per_thread = 40_000 / threads;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let store = store.clone();
            scope.spawn(move || {
                for n in 0..per_thread {
                    let key = format!("row{:04}", (n * 7 + thread * 13) % 1_000);
                    match store.latest().get(key.as_bytes()) {
                        Ok(Some(_)) => {}
                        other => println!("{other:?}"),
                    }
                }
            });
        }
    });
    let (reads, elapsed, cpu) = ((per_thread * threads) as f64, start.elapsed(), cpu() - cpu_before);
    println!(
        "{threads} threads: {:.0} reads/s, {:.1} us of CPU each",
        reads / elapsed.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / reads
    );
    Ok(())
}
