//! The warnings of a statement.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

use types::Warning;

/// How many warnings are stored; further ones are only counted. It is the default of `max_error_count`.
const MOST_KEPT: usize = 1024;

/// A list of warnings that several threads may add to.
#[derive(Default)]
pub struct Warnings {
    kept: Mutex<Vec<Warning>>,
    /// The number of all warnings. It is changed under the lock and read without it.
    count: AtomicU64,
}

impl Warnings {
    pub fn push(&self, warning: Warning) {
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        self.count.fetch_add(1, Ordering::Relaxed);
        if kept.len() < MOST_KEPT {
            kept.push(warning);
        }
    }

    /// Removes the stored warnings. Returns them, and the number of all warnings.
    pub fn take(&self) -> (Vec<Warning>, u64) {
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        (std::mem::take(&mut *kept), self.count.swap(0, Ordering::Relaxed))
    }

    /// The number of warnings so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Removes the warnings since there were `mark` of them, to be reported later, between others.
    pub fn take_back(&self, mark: u64) -> TakenBack<'_> {
        let end = self.count();
        let mut list = Vec::new();
        if end > mark {
            let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
            let from = usize::try_from(mark).map_or(kept.len(), |mark| mark.min(kept.len()));
            list = kept.split_off(from);
            self.count.store(mark, Ordering::Relaxed);
        }
        TakenBack {
            warnings: self,
            list: list.into_iter(),
            told: mark,
            end,
        }
    }
}

/// Removed warnings that are reported later. Those that are not reported are dropped.
pub struct TakenBack<'w> {
    warnings: &'w Warnings,
    list: vec::IntoIter<Warning>,
    /// The count at which the first of the remaining warnings was pushed, as of [`Warnings::count`].
    told: u64,
    end: u64,
}

impl TakenBack<'_> {
    /// Reports the warnings that had been pushed when [`Warnings::count`] was `mark`.
    pub fn tell_until(&mut self, mark: u64) {
        while self.told < mark.min(self.end) {
            self.told += 1;
            match self.list.next() {
                Some(warning) => self.warnings.push(warning),
                None => {
                    self.warnings.count.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    pub fn tell_all(mut self) {
        self.tell_until(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(number: u64) -> Warning {
        Warning::warning(1, number.to_string())
    }

    fn told(warnings: &Warnings) -> String {
        let (kept, _) = warnings.take();
        kept.iter()
            .map(|w| w.message.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn warnings_taken_back_are_told_in_between_others() {
        let warnings = Warnings::default();
        (0..5).for_each(|i| warnings.push(warning(i)));
        let mut later = warnings.take_back(2);
        assert_eq!(warnings.count(), 2);
        later.tell_until(4);
        warnings.push(warning(100));
        later.tell_until(4);
        later.tell_all();
        assert_eq!(warnings.count(), 6);
        assert_eq!(told(&warnings), "0 1 2 3 100 4");
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let warnings = Warnings::default();
        let most = MOST_KEPT as u64;
        (0..most + 10).for_each(|i| warnings.push(warning(i)));
        let mut later = warnings.take_back(1);
        later.tell_until(3);
        warnings.push(warning(5000));
        later.tell_all();
        let (kept, count) = warnings.take();
        assert_eq!((kept.len() as u64, count), (most, most + 11));
        assert_eq!(kept[3].message, "5000");
        assert_eq!(kept[MOST_KEPT - 1].message, (most - 2).to_string());
    }
}
