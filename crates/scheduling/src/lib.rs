//! What the kernel is asked for, for speed's sake: how threads take turns on the processors, here, and what pages the code
//! lies in ([`code`]).
//!
//! Where several threads want a processor, Linux gives each a turn of some milliseconds, and the one whose turn would have to be
//! over first is next (EEVDF). A thread that works for microseconds and sleeps needs no such turn. Once it has said so, it is
//! next sooner, above all after it was interrupted at its work by another that woke up. None of this is a priority, needs a
//! privilege, or takes anything from others over time; where the kernel does not know it, nothing changes.
//!
//! `sched_setattr(2)`; that `sched_runtime` is the length of a turn: Linux 6.12 and later.

pub mod code;

use std::time::Duration;

/// What the calling thread wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Short ones, and to interrupt others when it wakes up: for the one that many wait for (SCHED_OTHER).
    AtOnce(Duration),
    /// Short ones, but to let others finish theirs when it wakes up: for one of many. Interruptions cost more than they bring
    /// where all do alike (SCHED_BATCH).
    InTurn(Duration),
    /// The usual ones, and less of the processor than others, by so many steps of `nice(2)` more than it has now.
    Nicer(i32),
}

impl Turns {
    /// From now on, for the calling thread.
    pub fn ask(self) {
        #[cfg(target_os = "linux")]
        linux::ask(self);
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "two system calls without a safe wrapper")]
mod linux {
    use super::Turns;
    use libc::{SCHED_BATCH, SCHED_OTHER, SYS_sched_getattr, SYS_sched_setattr, c_int, sched_attr, syscall};
    use std::time::Duration;

    /// The nicest there is.
    const NICEST: i32 = 19;

    pub fn ask(turns: Turns) {
        let Some(mut attributes) = attributes() else {
            return;
        };
        // Whoever started the server with another policy had a reason.
        if ![SCHED_OTHER, SCHED_BATCH]
            .map(policy)
            .contains(&attributes.sched_policy)
        {
            return;
        }
        let (wanted, turn, nicer) = match turns {
            Turns::AtOnce(turn) => (SCHED_OTHER, turn, 0),
            Turns::InTurn(turn) => (SCHED_BATCH, turn, 0),
            // 0: as the kernel has it.
            Turns::Nicer(nicer) => (SCHED_OTHER, Duration::ZERO, nicer),
        };
        attributes.sched_policy = policy(wanted);
        attributes.sched_runtime = u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX);
        attributes.sched_nice = attributes.sched_nice.saturating_add(nicer).min(NICEST);
        // SAFETY: 0 is the calling thread; the kernel reads as many bytes as the structure's first field says, which it has
        // written itself.
        unsafe { syscall(SYS_sched_setattr, 0, &raw const attributes, 0) };
    }

    fn policy(policy: c_int) -> u32 {
        u32::try_from(policy).unwrap_or(u32::MAX)
    }

    /// The calling thread's.
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

// Helpers of tests, which clippy does not know to be tests.
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
        // In a thread of its own, which it is for.
        std::thread::spawn(|| {
            let (_, usual, nice) = state();
            // 0: it knows no lengths of turns.
            let turn = |ns| if usual == 0 { 0 } else { ns };
            Turns::AtOnce(Duration::from_micros(100)).ask();
            assert_eq!(state(), (0, turn(100_000), nice));
            Turns::InTurn(Duration::from_micros(300)).ask();
            assert_eq!(state(), (3, turn(300_000), nice));
            Turns::Nicer(2).ask();
            assert_eq!(state(), (0, usual, (nice + 2).min(19)));
        })
        .join()
        .unwrap();
    }
}
