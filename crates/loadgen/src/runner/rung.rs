//! One number of threads for some time: starts the workers, counts their samples, and returns the result.

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use super::clock::{Clock, RealClock};
use super::counter::Counter;
use super::drive::{Shared, drive};
use super::gate::Gate;
use super::plan::Plan;
use super::samples::SampleLog;
use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::result::{ErrorCount, Interval, Rung};
use crate::workload::{Context, Workload};

/// Enough for a worker. A thousand of them then need little memory.
const STACK_BYTES: usize = 256 * 1024;

/// Runs one rung. Fails if it cannot start; later failures are in [`Rung::failure`].
pub fn run(
    workload: &dyn Workload,
    context: &Context,
    plan: &Plan,
    progress: &mut dyn FnMut(&Interval),
) -> Result<Rung> {
    let clock = RealClock::start();
    let schedule = Schedule::new(plan.rate, plan.operations_max);
    let shared = Shared::new(&clock, &schedule, plan.reconnect);
    let logs: Vec<SampleLog> = (0..plan.threads).map(|_| SampleLog::default()).collect();
    let gate = Gate::default();
    let (opened, openings) = mpsc::channel();
    thread::scope(|scope| {
        let mut workers: Vec<ScopedJoinHandle<'_, Duration>> = Vec::with_capacity(plan.threads);
        let mut refused = None;
        for (number, log) in logs.iter().enumerate() {
            let (opened, shared, gate) = (opened.clone(), &shared, &gate);
            let open = move || workload.worker(context, number, plan.threads);
            let work = move || match open() {
                Ok(worker) => {
                    drop(opened);
                    gate.wait();
                    drive(shared, log, worker, &open)
                }
                Err(error) => {
                    let _ = opened.send(error);
                    Duration::ZERO
                }
            };
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            match builder.spawn_scoped(scope, work) {
                Ok(handle) => workers.push(handle),
                Err(error) => {
                    refused = Some(Error::Unexpected(format!(
                        "cannot start thread {number}: {error}"
                    )));
                    break;
                }
            }
        }
        drop(opened);
        // Ends when every worker is ready or has failed.
        for error in openings {
            refused.get_or_insert(error);
        }
        if let Some(error) = refused {
            shared.stop.store(true, Ordering::Relaxed);
            gate.open();
            return Err(error);
        }
        let mut counter = Counter::new(workload.operations(), plan, &logs, &shared.errors, &clock);
        schedule.start(clock.now());
        gate.open();
        let finished = || workers.iter().all(ScopedJoinHandle::is_finished);
        counter.watch(&|| shared.stopped() || finished(), progress);
        let mut ended = clock.now();
        let missed = schedule.missed(ended);
        shared.stop.store(true, Ordering::Relaxed);
        for worker in workers {
            ended = ended.max(worker.join().map_err(|_| Error::Worker)?);
        }
        let mut rung = counter.finish(ended, progress);
        rung.missed = missed;
        rung.errors = error_counts(&shared);
        rung.failure = shared.take_failure().map(|error| error.to_string());
        rung.figures = workload.figures(&rung);
        Ok(rung)
    })
}

fn error_counts(shared: &Shared<'_>) -> Vec<ErrorCount> {
    let counts = shared.errors.take().into_iter();
    counts
        .map(|(code, count, message)| ErrorCount { code, count, message })
        .collect()
}
