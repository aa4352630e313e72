//! What the calling thread has used: processor time, context switches, blocks of files, page faults.
//!
//! Source: `getrusage(2)`.

use std::time::Duration;

/// Since the thread has started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    pub user: Duration,
    pub system: Duration,
    pub switches: Switches,
    pub blocks_read: u64,
    pub blocks_written: u64,
    /// Page faults that needed a file, and those that did not.
    pub major_faults: u64,
    pub minor_faults: u64,
}

/// Context switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

impl ThreadUsage {
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        {
            linux::usage()
        }
        #[cfg(not(target_os = "linux"))]
        {
            Self::default()
        }
    }

    /// What has been used since `before`, on the same thread. Another thread's numbers are not comparable: 0 where they
    /// are larger.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            switches: Switches {
                voluntary: self.switches.voluntary.saturating_sub(before.switches.voluntary),
                involuntary: self
                    .switches
                    .involuntary
                    .saturating_sub(before.switches.involuntary),
            },
            blocks_read: self.blocks_read.saturating_sub(before.blocks_read),
            blocks_written: self.blocks_written.saturating_sub(before.blocks_written),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
        }
    }
}

#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
mod linux {
    use super::{Switches, ThreadUsage};
    use libc::{RUSAGE_THREAD, c_long, getrusage, rusage, timeval};
    use std::mem::MaybeUninit;
    use std::time::Duration;

    pub fn usage() -> ThreadUsage {
        let mut usage = MaybeUninit::<rusage>::zeroed();
        // SAFETY: the kernel writes one `rusage`, or nothing.
        unsafe { getrusage(RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: all of its fields are integers, for which zeros are values.
        let usage = unsafe { usage.assume_init() };
        ThreadUsage {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            switches: Switches {
                voluntary: count(usage.ru_nvcsw),
                involuntary: count(usage.ru_nivcsw),
            },
            blocks_read: count(usage.ru_inblock),
            blocks_written: count(usage.ru_oublock),
            major_faults: count(usage.ru_majflt),
            minor_faults: count(usage.ru_minflt),
        }
    }

    fn duration(time: timeval) -> Duration {
        Duration::from_secs(count(time.tv_sec)) + Duration::from_micros(count(time.tv_usec))
    }

    fn count(number: c_long) -> u64 {
        u64::try_from(number).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let before = ThreadUsage::now();
        let mut sum = 0u64;
        let mut used = ThreadUsage::default();
        // The kernel counts in ticks on some systems, so work goes on until something has been counted.
        for round in 0..u64::MAX {
            sum = sum.wrapping_mul(31).wrapping_add(round);
            if round & 0xf_ffff == 0 {
                used = ThreadUsage::now().since(&before);
                if used.user + used.system > Duration::ZERO {
                    break;
                }
            }
        }
        assert!(used.user + used.system > Duration::ZERO, "{sum}");
        assert_eq!(before.since(&ThreadUsage::now()).user, Duration::ZERO);
    }
}
