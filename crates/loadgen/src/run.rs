//! Runs a workload's workers until the time is up, and shows how far it is.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::orders::Shop;
use crate::report::{Recorder, Table};

const TICK: Duration = Duration::from_millis(200);
/// Without a terminal there is a line per so much time instead of a bar.
const LINE_EVERY: Duration = Duration::from_secs(5);
const BAR_WIDTH: u64 = 30;

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

/// A bar on a terminal, a line now and then elsewhere. On standard error: standard output is the report's.
pub struct Progress {
    name: &'static str,
    total: u64,
    done: AtomicU64,
    terminal: bool,
    start: Instant,
    /// Milliseconds after `start` of the last line written without a terminal.
    last_line_ms: AtomicU64,
}

impl Progress {
    pub fn new(name: &'static str, total: u64) -> Self {
        Self {
            name,
            total,
            done: AtomicU64::new(0),
            terminal: io::stderr().is_terminal(),
            start: Instant::now(),
            last_line_ms: AtomicU64::new(0),
        }
    }

    pub fn add(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        self.draw(done, &format!("{done} of {}", self.total));
    }

    pub fn set(&self, done: u64, note: &str) {
        self.done.store(done, Ordering::Relaxed);
        self.draw(done, note);
    }

    pub fn finish(&self) {
        if self.terminal {
            let _ = writeln!(io::stderr());
        }
    }

    fn draw(&self, done: u64, note: &str) {
        // Showing progress must never stop the work: errors of the terminal are ignored.
        if self.terminal {
            let _ = write!(io::stderr(), "\r{}\x1b[K", self.line(done, note));
            return;
        }
        let now_ms = self.start.elapsed().as_millis() as u64;
        let last_ms = self.last_line_ms.load(Ordering::Relaxed);
        let due = done >= self.total || now_ms >= last_ms + LINE_EVERY.as_millis() as u64;
        let mine = || {
            self.last_line_ms
                .compare_exchange(last_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        if due && mine() {
            let _ = writeln!(io::stderr(), "{}", self.line(done, note));
        }
    }

    fn line(&self, done: u64, note: &str) -> String {
        let total = self.total.max(1);
        let full = (done.min(total) * BAR_WIDTH / total) as usize;
        format!(
            "{} [{}{}] {:3} %  {note}",
            self.name,
            "#".repeat(full),
            ".".repeat(BAR_WIDTH as usize - full),
            done.min(total) * 100 / total,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let progress = Progress::new("x", 10);
        assert_eq!(progress.line(0, "n"), format!("x [{}]   0 %  n", ".".repeat(30)));
        assert_eq!(
            progress.line(5, "n"),
            format!("x [{}{}]  50 %  n", "#".repeat(15), ".".repeat(15))
        );
        assert_eq!(progress.line(99, "n"), format!("x [{}] 100 %  n", "#".repeat(30)));
        assert!(Progress::new("x", 0).line(0, "").contains("0 %"));
    }
}
