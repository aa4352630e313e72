//! What was measured: latencies per operation, and the table that shows them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::error::Result;

/// Latencies are kept in microseconds, up to this; three digits of each.
const LATENCY_US_MAX: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Of an operation: its latencies and how many failed.
#[derive(Debug, Clone)]
struct Operation {
    latencies_us: Histogram<u64>,
    errors: u64,
}

impl Operation {
    fn new() -> Self {
        Self {
            // The bounds are constants that are known to be valid; a histogram that grows by itself is the same thing.
            latencies_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, DIGITS)
                .unwrap_or_else(|_| unreachable!("constant bounds of a histogram")),
            errors: 0,
        }
    }
}

/// One worker's measurements.
pub struct Recorder {
    operations: BTreeMap<&'static str, Operation>,
    first_error: Option<String>,
    ready: Option<Arc<Barrier>>,
    count: Arc<AtomicU64>,
}

impl Recorder {
    pub fn new(ready: Arc<Barrier>, count: Arc<AtomicU64>) -> Self {
        Self {
            operations: BTreeMap::new(),
            first_error: None,
            ready: Some(ready),
            count,
        }
    }

    /// Waits for the other workers, the first time.
    pub fn ready(&mut self) {
        if let Some(barrier) = self.ready.take() {
            barrier.wait();
        }
    }

    /// Runs and times an operation; whether it succeeded. Only those that did count in the latencies.
    pub fn time(&mut self, operation: &'static str, run: impl FnOnce() -> Result<()>) -> bool {
        let start = Instant::now();
        let result = run();
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let entry = self.operations.entry(operation).or_insert_with(Operation::new);
        self.count.fetch_add(1, Ordering::Relaxed);
        match result {
            Ok(()) => entry.latencies_us.saturating_record(micros.max(1)),
            Err(e) => {
                entry.errors += 1;
                self.first_error.get_or_insert_with(|| e.to_string());
                if e.is_lost() {
                    // A dead connection would fail as fast as it can; the count should not drown in that.
                    std::thread::sleep(Duration::from_millis(100));
                }
                return false;
            }
        }
        true
    }
}

/// All workers' measurements, displayed as the report.
pub struct Table {
    names: Vec<&'static str>,
    operations: BTreeMap<&'static str, Operation>,
    threads: usize,
    elapsed: Duration,
    first_error: Option<String>,
}

impl Table {
    /// `names`: the lines in their order.
    pub fn new(names: Vec<&'static str>, threads: usize) -> Self {
        Self {
            names,
            operations: BTreeMap::new(),
            threads,
            elapsed: Duration::ZERO,
            first_error: None,
        }
    }

    pub fn add(&mut self, recorder: Recorder) {
        for (name, theirs) in recorder.operations {
            let ours = self.operations.entry(name).or_insert_with(Operation::new);
            ours.errors += theirs.errors;
            // Same bounds, so adding cannot fail.
            let _ = ours.latencies_us.add(&theirs.latencies_us);
        }
        if self.first_error.is_none() {
            self.first_error = recorder.first_error;
        }
    }

    pub fn set_elapsed(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    pub fn successes(&self) -> u64 {
        self.operations.values().map(|o| o.latencies_us.len()).sum()
    }

    pub fn first_error(&self) -> &str {
        self.first_error.as_deref().unwrap_or("none")
    }

    fn total(&self, names: &[&'static str]) -> Operation {
        let mut total = Operation::new();
        for operation in names.iter().filter_map(|n| self.operations.get(n)) {
            total.errors += operation.errors;
            let _ = total.latencies_us.add(&operation.latencies_us);
        }
        total
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, name: &str, operation: &Operation) -> fmt::Result {
        let h = &operation.latencies_us;
        let per_second = h.len() as f64 / self.elapsed.as_secs_f64().max(0.001);
        write!(f, "{name:<24} {per_second:>12.1}")?;
        for micros in [
            h.mean(),
            h.value_at_quantile(0.50) as f64,
            h.value_at_quantile(0.95) as f64,
            h.value_at_quantile(0.99) as f64,
        ] {
            write!(f, " {:>9.3}", micros / 1000.0)?;
        }
        writeln!(f, " {:>8}", operation.errors)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<24} {:>12} {:>9} {:>9} {:>9} {:>9} {:>8}",
            "operation", "operations/s", "mean ms", "P50 ms", "P95 ms", "P99 ms", "errors"
        )?;
        let none = Operation::new();
        for name in &self.names {
            self.line(f, name, self.operations.get(name).unwrap_or(&none))?;
        }
        self.line(f, "all", &self.total(&self.names))?;
        write!(
            f,
            "{} connections, {:.1} s",
            self.threads,
            self.elapsed.as_secs_f64()
        )?;
        match &self.first_error {
            Some(error) => write!(f, "; first error: {error}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_table_adds_workers_and_counts_errors() {
        let mut table = Table::new(vec!["read", "write"], 2);
        for _ in 0..2 {
            let barrier = Arc::new(Barrier::new(1));
            let mut recorder = Recorder::new(barrier, Arc::new(AtomicU64::new(0)));
            recorder.ready();
            recorder.ready();
            assert!(recorder.time("read", || Ok(())));
            assert!(!recorder.time("write", || Err(Error::Arguments("broken".to_owned()))));
            table.add(recorder);
        }
        table.set_elapsed(Duration::from_secs(2));
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("read ") && lines[1].contains(" 1.0 ") && lines[1].ends_with(" 0"));
        assert!(lines[2].starts_with("write ") && lines[2].ends_with(" 2"));
        assert!(lines[3].starts_with("all ") && lines[3].ends_with(" 2"));
        assert!(lines[4].ends_with("first error: broken"));
        assert_eq!(table.successes(), 2);
    }
}
