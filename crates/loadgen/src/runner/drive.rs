//! One worker's loop: choose an operation, wait for its turn, run it, record how long it took.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clock::Clock;
use super::samples::{ErrorLog, Sample, SampleLog};
use super::schedule::Schedule;
use crate::error::{Error, Result};
use crate::workload::Worker;

/// How long to wait before another attempt to connect.
const RECONNECT_EVERY: Duration = Duration::from_millis(200);

/// The state shared by the workers of a rung.
pub(super) struct Shared<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) schedule: &'a Schedule,
    pub(super) stop: AtomicBool,
    pub(super) errors: ErrorLog,
    /// For how long to try to open a lost connection again.
    pub(super) reconnect: Duration,
    failure: Mutex<Option<Error>>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(clock: &'a dyn Clock, schedule: &'a Schedule, reconnect: Duration) -> Self {
        Self {
            clock,
            schedule,
            stop: AtomicBool::new(false),
            errors: ErrorLog::default(),
            reconnect,
            failure: Mutex::new(None),
        }
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the run for all workers. The first reason is recorded.
    pub(super) fn fail(&self, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Runs operations until the run is stopped or there are no more turns. `reopen` creates the worker again
/// after its connection was lost. Returns when the last operation was done.
pub(super) fn drive<'w>(
    shared: &Shared<'_>,
    log: &SampleLog,
    mut worker: Box<dyn Worker + 'w>,
    reopen: &dyn Fn() -> Result<Box<dyn Worker + 'w>>,
) -> Duration {
    let mut ended = Duration::ZERO;
    while !shared.stopped() {
        let next = worker.next();
        let Some(turn) = shared.schedule.take() else { break };
        let begin = match turn.intended {
            Some(at) => {
                shared.clock.sleep_until(at, &|| shared.stopped());
                at
            }
            None if next.wait.is_zero() => shared.clock.now(),
            None => {
                let until = shared.clock.now() + next.wait;
                shared.clock.sleep_until(until, &|| shared.stopped());
                shared.clock.now()
            }
        };
        if shared.stopped() {
            break;
        }
        let sent = worker.connection().statements();
        let result = worker.run(next.operation);
        ended = shared.clock.now();
        let latency = ended.saturating_sub(begin);
        log.push(Sample {
            latency_ns: u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX),
            statements: worker.connection().statements().saturating_sub(sent) as u32,
            operation: next.operation as u16,
            failed: result.is_err(),
        });
        let Err(error) = result else { continue };
        shared.errors.add(&error);
        match after_error(shared, worker, error, reopen) {
            Some(mended) => worker = mended,
            None => break,
        }
    }
    ended
}

/// The worker to continue with; `None` if the run is over.
fn after_error<'w>(
    shared: &Shared<'_>,
    mut worker: Box<dyn Worker + 'w>,
    error: Error,
    reopen: &dyn Fn() -> Result<Box<dyn Worker + 'w>>,
) -> Option<Box<dyn Worker + 'w>> {
    if error.is_fatal() {
        shared.fail(error);
        return None;
    }
    if !error.is_lost() && worker.recover().is_ok() {
        return Some(worker);
    }
    drop(worker);
    let give_up = shared.clock.now() + shared.reconnect;
    loop {
        if shared.stopped() {
            return None;
        }
        match reopen() {
            Ok(worker) => return Some(worker),
            // The recorded reason is why the server cannot be reached any more.
            Err(error) if shared.clock.now() >= give_up || error.is_fatal() => {
                shared.fail(error);
                return None;
            }
            Err(_) => {}
        }
        let until = (shared.clock.now() + RECONNECT_EVERY).min(give_up);
        shared.clock.sleep_until(until, &|| shared.stopped());
    }
}

#[cfg(test)]
mod tests;
