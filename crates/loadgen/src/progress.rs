//! How far a long piece of work is: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Without a terminal there is a line per so much time instead of a bar.
const LINE_EVERY: Duration = Duration::from_secs(5);
const BAR_WIDTH: u64 = 30;

/// A bar on a terminal, a line now and then elsewhere. On standard error: standard output is the report's.
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
