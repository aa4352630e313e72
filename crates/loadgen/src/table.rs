//! Measurements as text.

use std::fmt::{self, Write};

use crate::result::{Interval, Operation, Rung};
use crate::workload::Checks;

const MIB: f64 = 1024.0 * 1024.0;

/// Prints a rung as a table: one line per operation, the total, and the resources used.
pub struct RungTable<'a>(pub &'a Rung);

impl fmt::Display for RungTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rung = self.0;
        writeln!(
            f,
            "{:<24} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}",
            "operation",
            "operations/s",
            "mean ms",
            "P50 ms",
            "P95 ms",
            "P99 ms",
            "P99.9 ms",
            "max ms",
            "errors"
        )?;
        if rung.operations.len() > 1 {
            for operation in &rung.operations {
                line(f, operation)?;
            }
        }
        line(f, &rung.all)?;
        write!(
            f,
            "{} threads, {:.1} s, {:.1} statements/s",
            rung.threads, rung.elapsed_seconds, rung.statements_per_second
        )?;
        if rung.missed > 0 {
            write!(f, "; {} operations were due and never sent", rung.missed)?;
        }
        for (who, cost) in [("server", rung.server), ("client", rung.client)] {
            if let Some(cost) = cost {
                write!(
                    f,
                    "\n{who}: {:.1} us of CPU an operation ({:.1} a statement), {:.0} % of one processor, {:.0} MiB resident",
                    cost.cpu_us_per_operation,
                    cost.cpu_us_per_statement,
                    (cost.user_seconds + cost.system_seconds) * 100.0 / rung.elapsed_seconds,
                    cost.resident_bytes_max as f64 / MIB,
                )?;
            }
        }
        for figure in &rung.figures {
            write!(f, "\n{}: {:.2}", figure.name, figure.value)?;
        }
        for error in &rung.errors {
            write!(
                f,
                "\nerror {}: {} times, first: {}",
                error.code, error.count, error.message
            )?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, operation: &Operation) -> fmt::Result {
    let latency = &operation.latency;
    write!(f, "{:<24} {:>12.1}", operation.name, operation.per_second)?;
    for us in [
        latency.mean_us,
        latency.p50_us,
        latency.p95_us,
        latency.p99_us,
        latency.p999_us,
        latency.max_us,
    ] {
        write!(f, " {:>9.3}", us / 1000.0)?;
    }
    writeln!(f, " {:>8}", operation.errors)
}

/// A line of progress.
pub fn progress_line(threads: usize, interval: &Interval) -> String {
    let mut line = format!(
        "{:>5.0} s  {threads} threads  {:>9.1} operations/s  P50 {:.3} ms  P99 {:.3} ms  errors {}",
        interval.start_seconds + interval.seconds,
        interval.operations as f64 / interval.seconds.max(1e-9),
        interval.latency.p50_us / 1000.0,
        interval.latency.p99_us / 1000.0,
        interval.errors,
    );
    // Writing to a String cannot fail.
    if let Some(cpu) = interval.server_cpu {
        let _ = write!(line, "  server {:.0} %", cpu * 100.0);
    }
    if let Some(bytes) = interval.server_resident_bytes {
        let _ = write!(line, " {:.0} MiB", bytes as f64 / MIB);
    }
    if interval.start_seconds < 0.0 {
        line.push_str("  (warm-up)");
    }
    line
}

/// Prints the checks, one per line.
pub struct CheckList<'a>(pub &'a Checks);

impl fmt::Display for CheckList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.0.list {
            let word = if check.passed { "ok    " } else { "FAILED" };
            writeln!(f, "{word} {}: {}", check.name, check.detail)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Cost, ErrorCount, Latency};

    #[test]
    fn a_rung_as_text() {
        let operation = |name: &str, errors| Operation {
            name: name.to_owned(),
            count: 10,
            errors,
            per_second: 5.0,
            latency: Latency {
                p99_us: 1500.0,
                ..Latency::default()
            },
        };
        let rung = Rung {
            threads: 2,
            elapsed_seconds: 2.0,
            all: operation("all", 1),
            operations: vec![operation("read", 0), operation("write", 1)],
            errors: vec![ErrorCount {
                code: 1213,
                count: 1,
                message: "Deadlock".to_owned(),
            }],
            missed: 3,
            server: Some(Cost {
                user_seconds: 1.0,
                ..Cost::default()
            }),
            ..Rung::default()
        };
        let text = RungTable(&rung).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("read ") && lines[1].contains(" 1.500 "));
        assert!(lines[3].starts_with("all ") && lines[3].ends_with(" 1"));
        assert!(lines[4].ends_with("3 operations were due and never sent"));
        assert!(lines[5].starts_with("server: ") && lines[5].contains(" 50 % of one processor"));
        assert_eq!(lines[6], "error 1213: 1 times, first: Deadlock");
    }

    #[test]
    fn warming_up_is_said() {
        let interval = Interval {
            start_seconds: -2.0,
            seconds: 1.0,
            operations: 7,
            ..Interval::default()
        };
        let line = progress_line(4, &interval);
        assert!(
            line.contains("7.0 operations/s") && line.ends_with("(warm-up)"),
            "{line}"
        );
    }
}
