//! Counters that all connections add to: one copy for each processor, so that two processors seldom write to
//! the same cache line. Their value is the sum.

use std::cell::Cell;
use std::thread::available_parallelism;

/// How often a thread asks on which processor it runs: once in so many uses.
const USES: u32 = 32;

/// A `T` for each processor; processors share them where there are more than `max`.
pub struct PerCpu<T>(Box<[Aligned<T>]>);

/// In cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Aligned<T>(T);

impl<T: Default> PerCpu<T> {
    /// At most `max` copies, a power of two.
    pub fn new(max: usize) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        let copies = processors.next_power_of_two().min(max);
        Self((0..copies).map(|_| Aligned::default()).collect())
    }
}

impl<T> PerCpu<T> {
    /// The copy of the processor on which this thread runs, or has run a short while ago.
    #[inline]
    pub fn here(&self) -> &T {
        &self.0[processor() & (self.0.len() - 1)].0
    }

    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|copy| &copy.0)
    }
}

#[inline]
fn processor() -> usize {
    thread_local! {
        /// Uses that are left, and the processor.
        static LAST: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
    }
    let (left, processor) = LAST.get();
    match left {
        0 => {
            let processor = current();
            LAST.set((USES, processor));
            processor
        }
        _ => {
            LAST.set((left - 1, processor));
            processor
        }
    }
}

#[expect(unsafe_code, reason = "a call without a safe wrapper")]
#[cfg(target_os = "linux")]
fn current() -> usize {
    // SAFETY: it takes no arguments, and touches no memory of the caller's.
    let processor = unsafe { libc::sched_getcpu() };
    usize::try_from(processor).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn current() -> usize {
    0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn what_threads_add_is_in_the_sum() {
        let counter = PerCpu::<AtomicU64>::new(4);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        counter.here().fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let sum: u64 = counter.all().map(|copy| copy.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 800);
        assert!(counter.all().count() <= 4);
    }
}
