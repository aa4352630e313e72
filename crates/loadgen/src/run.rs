//! Runs a workload's workers until the time is up, and shows how far it is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::orders::Shop;
use crate::progress::Progress;
use crate::report::{Recorder, Table};

const TICK: Duration = Duration::from_millis(200);

/// Runs the shop's mix for `time` with the shop's number of threads.
pub fn run(shop: &Shop, time: Duration) -> Result<Table> {
    let stop = AtomicBool::new(false);
    let operations = Arc::new(AtomicU64::new(0));
    // The workers and the clock.
    let ready = Arc::new(Barrier::new(shop.threads + 1));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..shop.threads)
            .map(|worker| {
                let mut recorder = Recorder::new(Arc::clone(&ready), Arc::clone(&operations));
                let stop = &stop;
                scope.spawn(move || {
                    let running = || !stop.load(Ordering::Relaxed);
                    let result = shop.work(worker as u64, &running, &mut recorder);
                    // A worker that failed before it was ready must not keep the others waiting.
                    recorder.ready();
                    result.map(|()| recorder)
                })
            })
            .collect();
        ready.wait();
        let start = Instant::now();
        watch(start, time, &operations);
        stop.store(true, Ordering::Relaxed);
        let mut table = Table::new(Shop::operations(), shop.threads);
        for worker in workers {
            table.add(worker.join().map_err(|_| Error::Worker)??);
        }
        table.set_elapsed(start.elapsed());
        Ok(table)
    })
}

fn watch(start: Instant, time: Duration, operations: &AtomicU64) {
    let progress = Progress::new("running", time.as_millis() as u64);
    loop {
        let elapsed = start.elapsed();
        progress.set(
            elapsed.min(time).as_millis() as u64,
            &format!(
                "{:.0} operations/s",
                operations.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64().max(0.001)
            ),
        );
        if elapsed >= time {
            break;
        }
        thread::sleep(TICK.min(time - elapsed));
    }
    progress.finish();
}
