//! Requests to the kernel that make the server faster: how its threads take turns on the processors (here and
//! [`background`]), and the size of the pages that its code lies in ([`code`]). Counters with a copy for
//! each processor ([`per_cpu`]), and what a thread has used ([`usage`]).
//!
//! Not here: which thread requests which scheduling. The server's connection threads and the engines'
//! background threads do that themselves. Where to go next: `server`'s `workers`, which requests the most.
//!
//! If several threads want a processor, Linux gives each a time slice of some milliseconds, and runs the
//! one with the earliest deadline next (EEVDF). A thread that works for microseconds and then sleeps needs
//! no such slice. Once it has requested a shorter one, it runs sooner, above all after another thread that
//! woke up has preempted it. This is not a priority, needs no privilege, and over time takes nothing from
//! other threads. Kernels without support ignore the request.
//!
//! Source: `sched_setattr(2)`. `sched_runtime` sets the length of a slice since Linux 6.12.

pub mod background;
pub mod code;
pub mod per_cpu;
pub mod usage;

use std::time::Duration;

/// The scheduling that a thread requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Short slices, and preemption of other threads when it wakes up: for one thread that many wait for
    /// (SCHED_OTHER).
    AtOnce(Duration),
    /// Short slices, without preempting others when it wakes up: for one of many threads. If all of them
    /// preempted one another, that would cost more than it gains (SCHED_BATCH).
    InTurn(Duration),
    /// Usual slices, and less of the processor than other threads: this many steps of `nice(2)` above the
    /// current value.
    Nicer(i32),
}

impl Turns {
    /// Requests it for the calling thread.
    pub fn ask(self) {
        #[cfg(target_os = "linux")]
        linux::ask(self);
    }
}

/// The nice value of the calling thread, which threads that it starts inherit; 0 where there is none for each thread.
pub fn nice_value() -> i32 {
    #[cfg(target_os = "linux")]
    {
        linux::nice_value()
    }
    #[cfg(not(target_os = "linux"))]
    {
        0
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "three system calls without a safe wrapper")]
mod linux {
    use super::Turns;
    use libc::{
        CLOCK_THREAD_CPUTIME_ID, SCHED_BATCH, SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_int,
        clock_gettime, sched_attr, syscall, timespec,
    };
    use std::time::Duration;

    /// The highest value of `nice(2)`.
    const NICEST: i32 = 19;

    pub fn ask(turns: Turns) {
        let Some(mut attributes) = attributes() else {
            return;
        };
        // If the server was started with another policy, that was on purpose.
        if !is_one_of(&attributes, [SCHED_OTHER, SCHED_BATCH]) {
            return;
        }
        let (wanted, turn, nicer) = match turns {
            Turns::AtOnce(turn) => (SCHED_OTHER, turn, 0),
            Turns::InTurn(turn) => (SCHED_BATCH, turn, 0),
            // 0: the kernel's default.
            Turns::Nicer(nicer) => (SCHED_OTHER, Duration::ZERO, nicer),
        };
        attributes.sched_policy = policy(wanted);
        attributes.sched_runtime = u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX);
        attributes.sched_nice = attributes.sched_nice.saturating_add(nicer).min(NICEST);
        set(&attributes);
    }

    pub fn nice_value() -> c_int {
        attributes().map_or(0, |attributes| attributes.sched_nice)
    }

    /// Changes the policy of the calling thread from `from` to `to`. Whether it had that policy.
    pub fn change_policy(from: c_int, to: c_int) -> bool {
        let Some(mut attributes) = attributes().filter(|a| is_one_of(a, [from])) else {
            return false;
        };
        attributes.sched_policy = policy(to);
        set(&attributes);
        true
    }

    /// The processor time of the calling thread.
    pub fn processor_time() -> Duration {
        let mut time = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the kernel writes one `timespec`.
        unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
    }

    fn set(attributes: &sched_attr) {
        // SAFETY: 0 is the calling thread. The kernel reads as many bytes as the structure's first field
        // says, which is its size.
        unsafe { syscall(SYS_sched_setattr, 0, &raw const *attributes, 0) };
    }

    fn is_one_of<const N: usize>(attributes: &sched_attr, policies: [c_int; N]) -> bool {
        policies.map(policy).contains(&attributes.sched_policy)
    }

    fn policy(policy: c_int) -> u32 {
        u32::try_from(policy).unwrap_or(u32::MAX)
    }

    /// The attributes of the calling thread.
    pub fn attributes() -> Option<sched_attr> {
        let size = u32::try_from(size_of::<sched_attr>()).unwrap_or(0);
        let mut attributes = sched_attr {
            size: 0,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the kernel writes at most `size` bytes, which is the structure's size.
        let got = unsafe { syscall(SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        (got == 0).then_some(attributes)
    }
}

// clippy does not count these helpers as tests.
#[allow(clippy::unwrap_used)]
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Policy, length of a turn in nanoseconds, and niceness of the calling thread.
    fn state() -> (u32, u64, i32) {
        let attributes = linux::attributes().unwrap();
        (
            attributes.sched_policy,
            attributes.sched_runtime,
            attributes.sched_nice,
        )
    }

    #[test]
    fn the_kernel_grants_what_is_asked_for() {
        // In a thread of its own, since the request applies to a thread.
        std::thread::spawn(|| {
            let (_, usual, nice) = state();
            // 0: the kernel does not support lengths of slices.
            let turn = |ns| if usual == 0 { 0 } else { ns };
            Turns::AtOnce(Duration::from_micros(100)).ask();
            assert_eq!(state(), (0, turn(100_000), nice));
            Turns::InTurn(Duration::from_micros(300)).ask();
            assert_eq!(state(), (3, turn(300_000), nice));
            Turns::Nicer(2).ask();
            assert_eq!(state(), (0, usual, (nice + 2).min(19)));
            assert_eq!(super::nice_value(), (nice + 2).min(19));
            background::begin();
            assert_eq!(state().0, 5);
        })
        .join()
        .unwrap();
    }
}
