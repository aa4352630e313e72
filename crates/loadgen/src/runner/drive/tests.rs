//! The loop, on a clock that advances only by the operations.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::client::Connection;
use crate::workload::Next;

#[derive(Debug, Default)]
struct FakeClock {
    now_ns: AtomicU64,
}

impl FakeClock {
    fn pass(&self, time: Duration) {
        self.now_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, until: Duration, _stopped: &dyn Fn() -> bool) {
        self.now_ns.fetch_max(until.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// What happened to the workers of a test.
#[derive(Debug, Default)]
struct Story {
    runs: Cell<u64>,
    recovered: Cell<u64>,
    opened: Cell<u64>,
}

/// Each run takes a millisecond, the first one ten; `answer` decides how each ends.
struct FakeWorker<'a> {
    clock: &'a FakeClock,
    story: Rc<Story>,
    wait: Duration,
    answer: fn(u64) -> Result<()>,
    connection: Connection,
}

impl Worker for FakeWorker<'_> {
    fn next(&mut self) -> Next {
        Next {
            operation: 0,
            wait: self.wait,
        }
    }

    fn run(&mut self, _operation: usize) -> Result<()> {
        let number = self.story.runs.get();
        self.story.runs.set(number + 1);
        self.clock
            .pass(Duration::from_millis(if number == 0 { 10 } else { 1 }));
        (self.answer)(number)
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    fn recover(&mut self) -> Result<()> {
        self.story.recovered.set(self.story.recovered.get() + 1);
        Ok(())
    }
}

struct Outcome {
    latencies_ms: Vec<u64>,
    failed: Vec<bool>,
    story: Rc<Story>,
    ended: Duration,
    failure: Option<Error>,
}

fn outcome(rate: Option<f64>, limit: u64, wait_ms: u64, answer: fn(u64) -> Result<()>) -> Outcome {
    let clock = FakeClock::default();
    let schedule = Schedule::new(rate, Some(limit));
    let shared = Shared::new(&clock, &schedule, Duration::from_secs(1));
    let log = SampleLog::default();
    let story = Rc::new(Story::default());
    let worker = || -> Box<dyn Worker + '_> {
        Box::new(FakeWorker {
            clock: &clock,
            story: Rc::clone(&story),
            wait: Duration::from_millis(wait_ms),
            answer,
            connection: Connection::unconnected(),
        })
    };
    let reopen = || {
        story.opened.set(story.opened.get() + 1);
        // The first two attempts fail.
        if story.opened.get() % 3 == 0 {
            Ok(worker())
        } else {
            Err(Error::Lost(std::io::ErrorKind::ConnectionRefused.into()))
        }
    };
    let ended = drive(&shared, &log, worker(), &reopen);
    let mut samples = Vec::new();
    log.take(&mut samples);
    Outcome {
        latencies_ms: samples
            .iter()
            .map(|sample| sample.latency_ns / 1_000_000)
            .collect(),
        failed: samples.iter().map(|sample| sample.failed).collect(),
        ended,
        failure: shared.take_failure(),
        story: Rc::clone(&story),
    }
}

#[test]
fn a_closed_loop_sees_a_stall_once() {
    let outcome = outcome(None, 5, 0, |_| Ok(()));
    assert_eq!(outcome.latencies_ms, [10, 1, 1, 1, 1]);
    assert_eq!(outcome.ended, Duration::from_millis(14));
}

#[test]
fn an_open_loop_sees_a_stall_in_every_operation_that_it_held_up() {
    // One operation is due every 2 ms. The first takes 10 ms, so the following ones are late until
    // operations of 1 ms have caught up.
    let outcome = outcome(Some(500.0), 14, 0, |_| Ok(()));
    assert_eq!(outcome.latencies_ms, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1]);
    assert_eq!(outcome.ended, Duration::from_millis(27));
}

#[test]
fn thinking_is_no_latency_and_left_out_at_a_rate() {
    let thinking = outcome(None, 3, 100, |_| Ok(()));
    assert_eq!(thinking.latencies_ms, [10, 1, 1]);
    assert_eq!(thinking.ended, Duration::from_millis(312));
    let at_a_rate = outcome(Some(1000.0), 3, 100, |_| Ok(()));
    assert_eq!(at_a_rate.ended, Duration::from_millis(12));
}

#[test]
fn an_error_of_the_server_is_counted_and_the_worker_goes_on() {
    let outcome = outcome(None, 4, 0, |number| match number {
        1 => Err(Error::Server {
            code: 1213,
            message: "Deadlock found".to_owned(),
        }),
        _ => Ok(()),
    });
    assert_eq!(outcome.failed, [false, true, false, false]);
    assert_eq!(
        (outcome.story.recovered.get(), outcome.story.opened.get()),
        (1, 0)
    );
    assert!(outcome.failure.is_none());
}

#[test]
fn a_lost_connection_is_opened_again() {
    let outcome = outcome(None, 4, 0, |number| match number {
        1 => Err(Error::Lost(std::io::ErrorKind::ConnectionReset.into())),
        _ => Ok(()),
    });
    assert_eq!(outcome.failed, [false, true, false, false]);
    assert_eq!(
        (outcome.story.recovered.get(), outcome.story.opened.get()),
        (0, 3)
    );
    assert!(outcome.failure.is_none());
}

#[test]
fn what_would_fail_every_time_ends_the_run() {
    let outcome = outcome(None, 4, 0, |_| {
        Err(Error::Server {
            code: 1146,
            message: "Table 'a.b' doesn't exist".to_owned(),
        })
    });
    assert_eq!(outcome.failed, [true]);
    assert!(matches!(outcome.failure, Some(Error::Server { code: 1146, .. })));
}
