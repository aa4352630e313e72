//! Threads that leave the processors to all others, and are not starved by them.
//!
//! A thread with a high nice value still keeps a processor until its turn ends, some milliseconds, while threads of the
//! server's connections have woken up and wait: those run as batch threads, which preempt nobody. Linux has a policy for
//! work that is to be preempted by everything: SCHED_IDLE. It also looks for a processor on which nothing else runs
//! when it wakes a thread, and counts one with an idle thread among them.
//!
//! Such a thread gets next to nothing as long as others want all processors, and may hold a lock that they need. So
//! it looks now and then how much it has had, and runs as a batch thread itself while that is less than
//! [its least share](LEAST).

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Of one processor: a tenth.
const LEAST: u32 = 10;
/// Between two looks at the clocks.
const PERIOD: Duration = Duration::from_millis(50);
/// What is counted. A thread that had much a while ago is not to be starved for it.
const WINDOW: Duration = Duration::from_secs(1);

/// What a thread has had since a moment.
#[derive(Debug)]
struct Share {
    since: Instant,
    looked: Instant,
    had: Duration,
    is_idle: bool,
}

thread_local! {
    static SHARE: RefCell<Option<Share>> = const { RefCell::new(None) };
}

/// Makes the calling thread one of these, which it stays. It calls [`look`] once in a millisecond of work or so.
pub fn begin() {
    if !change(true) {
        return;
    }
    let now = Instant::now();
    let share = Share {
        since: now,
        looked: now,
        had: processor_time(),
        is_idle: true,
    };
    SHARE.with_borrow_mut(|mine| *mine = Some(share));
}

/// Looks whether the calling thread has had its least share. For other threads it does nothing.
pub fn look() {
    SHARE.with_borrow_mut(|mine| {
        let Some(share) = mine else { return };
        let now = Instant::now();
        if now - share.looked < PERIOD {
            return;
        }
        share.looked = now;
        let (had, passed) = (processor_time(), now - share.since);
        let is_idle = has_enough(had.saturating_sub(share.had), passed);
        if is_idle != share.is_idle && change(is_idle) {
            share.is_idle = is_idle;
        }
        if passed > WINDOW {
            (share.since, share.had) = (now, had);
        }
    });
}

/// Runs `work`, for which other threads wait, with usual turns.
pub fn waited_for<T>(work: impl FnOnce() -> T) -> T {
    let is_idle = SHARE.with_borrow(|mine| mine.as_ref().is_some_and(|share| share.is_idle));
    if !is_idle {
        return work();
    }
    change(false);
    let done = work();
    change(true);
    done
}

fn has_enough(had: Duration, passed: Duration) -> bool {
    had * LEAST >= passed
}

#[cfg(target_os = "linux")]
fn change(to_idle: bool) -> bool {
    use libc::{SCHED_BATCH, SCHED_IDLE, SCHED_OTHER};
    match to_idle {
        true => [SCHED_OTHER, SCHED_BATCH]
            .into_iter()
            .any(|from| super::linux::change_policy(from, SCHED_IDLE)),
        false => super::linux::change_policy(SCHED_IDLE, SCHED_BATCH),
    }
}

#[cfg(not(target_os = "linux"))]
fn change(_: bool) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    super::linux::processor_time()
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_a_processor_is_enough() {
        let ms = Duration::from_millis;
        assert!(has_enough(ms(100), ms(1_000)));
        assert!(has_enough(ms(1_000), ms(1_000)));
        assert!(!has_enough(ms(99), ms(1_000)));
        assert!(!has_enough(ms(0), ms(50)));
    }

    #[test]
    fn only_threads_that_asked_for_it_look() {
        std::thread::spawn(|| {
            look();
            SHARE.with_borrow(|share| assert!(share.is_none()));
        })
        .join()
        .unwrap();
    }
}
