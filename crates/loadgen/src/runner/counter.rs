//! Counts the workers' samples during the run, per interval and per operation.

use std::time::Duration;

use super::clock::Clock;
use super::plan::Plan;
use super::process::{Process, Usage};
use super::samples::{ErrorLog, Sample, SampleLog};
use super::tally::Tally;
use crate::result::{Cost, Interval, Operation, Rung};

/// A last interval shorter than this part of a whole one is left out of the series.
const SHORTEST_PART: f64 = 0.5;

pub(super) struct Counter<'a> {
    names: Vec<String>,
    plan: &'a Plan,
    logs: &'a [SampleLog],
    errors: &'a ErrorLog,
    clock: &'a dyn Clock,
    operations: Vec<Tally>,
    current: Tally,
    statements: u64,
    /// When measuring began; in the future during the warm-up.
    measured_from: Duration,
    interval_start: Duration,
    /// At the start of the interval, and at the start of measuring.
    server: Meter,
    client: Meter,
    series: Vec<Interval>,
    batch: Vec<Sample>,
}

/// A process's usage at certain times.
struct Meter {
    process: Option<Process>,
    measured_from: Option<Usage>,
    last: Option<Usage>,
    resident_bytes_max: u64,
}

impl Meter {
    fn new(process: Option<Process>) -> Self {
        let usage = process.and_then(Process::usage);
        Self {
            process,
            measured_from: usage,
            last: usage,
            resident_bytes_max: usage.map_or(0, |usage| usage.resident_bytes),
        }
    }

    /// The usage now, and the CPU time since the last call. After a process has ended, its last figures
    /// remain.
    fn read(&mut self) -> Option<(Usage, Duration)> {
        let now = self.process.and_then(Process::usage)?;
        let before = self.last.replace(now).unwrap_or(now);
        self.resident_bytes_max = self.resident_bytes_max.max(now.resident_bytes);
        Some((now, cpu(now).saturating_sub(cpu(before))))
    }

    fn cost(&self, operations: u64, statements: u64) -> Option<Cost> {
        let (start, end) = (self.measured_from?, self.last?);
        let user = end.user.saturating_sub(start.user).as_secs_f64();
        let system = end.system.saturating_sub(start.system).as_secs_f64();
        let each = |count: u64| (user + system) * 1e6 / count.max(1) as f64;
        Some(Cost {
            user_seconds: user,
            system_seconds: system,
            cpu_us_per_operation: each(operations),
            cpu_us_per_statement: each(statements),
            resident_bytes_start: start.resident_bytes,
            resident_bytes_end: end.resident_bytes,
            resident_bytes_max: self.resident_bytes_max,
        })
    }
}

fn cpu(usage: Usage) -> Duration {
    usage.user + usage.system
}

impl<'a> Counter<'a> {
    /// The warm-up starts now.
    pub(super) fn new(
        names: Vec<String>,
        plan: &'a Plan,
        logs: &'a [SampleLog],
        errors: &'a ErrorLog,
        clock: &'a dyn Clock,
    ) -> Self {
        let now = clock.now();
        Self {
            operations: vec![Tally::default(); names.len()],
            names,
            plan,
            logs,
            errors,
            clock,
            current: Tally::default(),
            statements: 0,
            measured_from: now + plan.warm_up,
            interval_start: now,
            server: Meter::new(plan.server),
            client: Meter::new(Some(Process::own())),
            series: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// Returns when the time is up, or when `over` returns true.
    pub(super) fn watch(&mut self, over: &dyn Fn() -> bool, progress: &mut dyn FnMut(&Interval)) {
        let end = self.measured_from + self.plan.time;
        let mut warming = !self.plan.warm_up.is_zero();
        loop {
            let mut until = (self.interval_start + self.plan.interval).min(end);
            if warming {
                until = until.min(self.measured_from);
            }
            self.clock.sleep_until(until, over);
            if over() {
                return;
            }
            self.close_interval(progress);
            let now = self.interval_start;
            if warming && now >= self.measured_from {
                warming = false;
                self.start_measuring(now);
            }
            if now >= end {
                return;
            }
        }
    }

    /// Discards the figures of the warm-up.
    fn start_measuring(&mut self, now: Duration) {
        self.measured_from = now;
        self.operations.iter_mut().for_each(Tally::clear);
        self.statements = 0;
        self.errors.take();
        for meter in [&mut self.server, &mut self.client] {
            meter.measured_from = meter.last;
            meter.resident_bytes_max = meter.last.map_or(0, |usage| usage.resident_bytes);
        }
    }

    fn drain(&mut self) {
        for log in self.logs {
            log.take(&mut self.batch);
            for sample in self.batch.drain(..) {
                self.current.add(sample);
                self.statements += u64::from(sample.statements);
                if let Some(tally) = self.operations.get_mut(usize::from(sample.operation)) {
                    tally.add(sample);
                }
            }
        }
    }

    fn close_interval(&mut self, progress: &mut dyn FnMut(&Interval)) {
        self.drain();
        let now = self.clock.now();
        let seconds = now.saturating_sub(self.interval_start).as_secs_f64();
        let server = self.server.read();
        self.client.read();
        let interval = Interval {
            start_seconds: self.interval_start.as_secs_f64() - self.measured_from.as_secs_f64(),
            seconds,
            operations: self.current.count(),
            errors: self.current.errors,
            latency: self.current.latency(),
            server_cpu: server.map(|(_, cpu)| cpu.as_secs_f64() / seconds.max(1e-9)),
            server_resident_bytes: server.map(|(usage, _)| usage.resident_bytes),
        };
        progress(&interval);
        self.series.push(interval);
        self.current.clear();
        self.interval_start = now;
    }

    /// Counts the last samples, after all workers have ended. `ended` is when the last operation was done.
    pub(super) fn finish(mut self, ended: Duration, progress: &mut dyn FnMut(&Interval)) -> Rung {
        let now = ended;
        // A run that ended during the warm-up counts from its start, which is better than nothing.
        let measured_from = if now < self.measured_from {
            self.series.first().map_or(self.interval_start, |first| {
                let before = self.measured_from.as_secs_f64() + first.start_seconds;
                Duration::from_secs_f64(before.max(0.0))
            })
        } else {
            self.measured_from
        };
        let part = now.saturating_sub(self.interval_start);
        if part.as_secs_f64() >= SHORTEST_PART * self.plan.interval.as_secs_f64() {
            self.close_interval(progress);
        } else {
            self.drain();
            self.server.read();
            self.client.read();
        }
        let elapsed = now.saturating_sub(measured_from).as_secs_f64().max(1e-9);
        let mut all = Tally::default();
        for tally in &self.operations {
            all.merge(tally);
        }
        let operation = |name: &str, tally: &Tally| Operation {
            name: name.to_owned(),
            count: tally.count(),
            errors: tally.errors,
            per_second: tally.count() as f64 / elapsed,
            latency: tally.latency(),
        };
        Rung {
            threads: self.plan.threads,
            elapsed_seconds: elapsed,
            throughput: all.count() as f64 / elapsed,
            statements_per_second: self.statements as f64 / elapsed,
            operations: self
                .names
                .iter()
                .zip(&self.operations)
                .map(|(name, tally)| operation(name, tally))
                .collect(),
            server: self.server.cost(all.count(), self.statements),
            client: self.client.cost(all.count(), self.statements),
            all: operation("all", &all),
            series: self.series,
            ..Rung::default()
        }
    }
}
