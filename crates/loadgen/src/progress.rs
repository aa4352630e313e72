//! Progress of long work: a bar on a terminal, a line from time to time elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Without a terminal a line is printed at this interval.
const LINE_EVERY: Duration = Duration::from_secs(5);
const BAR_WIDTH: u64 = 30;

/// The display. It goes to standard error, since the report goes to standard output.
pub struct Progress {
    name: String,
    total: u64,
    done: AtomicU64,
    terminal: bool,
    start: Instant,
    /// Milliseconds after `start` of the last line written without a terminal.
    last_line_ms: AtomicU64,
}

impl Progress {
    pub fn new(name: &str, total: u64) -> Self {
        Self {
            name: name.to_owned(),
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
        // Errors of the terminal are ignored: they must not stop the work.
        if self.terminal {
            let _ = write!(io::stderr(), "\r{}\x1b[K", self.line(done, note));
            return;
        }
        let now_ms = self.start.elapsed().as_millis() as u64;
        let last_ms = self.last_line_ms.load(Ordering::Relaxed);
        let due = done >= self.total || now_ms >= last_ms + LINE_EVERY.as_millis() as u64;
        let is_this_threads_turn = || {
            self.last_line_ms
                .compare_exchange(last_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        };
        if due && is_this_threads_turn() {
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
