//! Keeps a processor awake while the log is synced.
//!
//! A sync takes a fast disk 0.1 to 0.3 ms. While the thread that asked for it sleeps and nobody else has work, its
//! processor goes idle, and an idle processor may notice the disk's answer late: on virtual machines by milliseconds,
//! which then is all that a lone writer waits for. So for as long as a sync may sensibly take a thread of the lowest
//! scheduling class (`SCHED_IDLE`) keeps looking whether it has ended. It gets a processor only if nobody else wants
//! it, and where looking does not pay, because the disk is slow, it is tried seldom only. (InnoDB has those who wait
//! look themselves: `innodb_log_wait_for_flush_spin_hwm`, whose 400 us this has.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long to look for a sync's end.
const LOOK: Duration = Duration::from_micros(400);
/// After so many looks in vain only one sync in [`PROBE`] is looked at.
const VAIN_MAX: u64 = 8;
const PROBE: u64 = 64;

/// The thread that looks.
pub(crate) struct Wakeful {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    /// Syncs begun, times two; odd while one is running.
    phase: AtomicU64,
    asleep: AtomicBool,
    stopping: AtomicBool,
}

/// A sync in flight; it ends when this is dropped.
pub(crate) struct Syncing<'a>(&'a State);

impl Wakeful {
    pub fn start() -> Self {
        let state = Arc::<State>::default();
        let looking = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("kv-wakeful".to_owned())
            .spawn(move || {
                if yield_to_everybody() {
                    looking.run();
                }
            });
        // No thread to be had: syncs end as the system pleases.
        Self {
            state,
            thread: thread.ok(),
        }
    }

    /// One at a time.
    pub fn begin_sync(&self) -> Syncing<'_> {
        self.state.phase.fetch_add(1, Ordering::SeqCst);
        if self.state.asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Syncing(&self.state)
    }
}

impl Drop for Syncing<'_> {
    fn drop(&mut self) {
        self.0.phase.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Wakeful {
    fn drop(&mut self) {
        self.state.stopping.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl State {
    fn run(&self) {
        let (mut seen, mut vain) = (0, 0_u64);
        while !self.stopping.load(Ordering::SeqCst) {
            self.asleep.store(true, Ordering::SeqCst);
            let phase = self.phase.load(Ordering::SeqCst);
            if phase == seen || phase % 2 == 0 {
                thread::park();
                continue;
            }
            self.asleep.store(false, Ordering::SeqCst);
            seen = phase;
            if vain >= VAIN_MAX && !vain.is_multiple_of(PROBE) {
                vain += 1;
            } else {
                vain = if self.look(phase) { 0 } else { vain + 1 };
            }
        }
    }

    /// Whether the sync ended in time.
    fn look(&self, phase: u64) -> bool {
        let until = Instant::now() + LOOK;
        while Instant::now() < until {
            for _ in 0..32 {
                if self.phase.load(Ordering::Relaxed) != phase {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        false
    }
}

/// Puts this thread into the class that runs only while a processor has nothing else to do. False if that cannot be
/// had: then it must not run at all.
#[cfg(target_os = "linux")]
fn yield_to_everybody() -> bool {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads `lowest`, which outlives it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn yield_to_everybody() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_are_looked_at_and_the_thread_stops() {
        let wakeful = Wakeful::start();
        for _ in 0..100 {
            let syncing = wakeful.begin_sync();
            assert_eq!(wakeful.state.phase.load(Ordering::SeqCst) % 2, 1);
            drop(syncing);
            assert_eq!(wakeful.state.phase.load(Ordering::SeqCst) % 2, 0);
        }
        drop(wakeful);
    }

    #[test]
    fn a_look_ends_with_its_sync_or_in_vain() {
        let state = State::default();
        state.phase.store(3, Ordering::SeqCst);
        assert!(!state.look(3), "still running");
        assert!(state.look(1), "ended long ago");
    }
}
