//! The warnings of a statement.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

use types::Warning;

/// How many warnings are stored. More are only counted. This is the default of `max_error_count`.
const MAX_STORED: usize = 1024;

/// A list of warnings that several threads may add to.
#[derive(Default)]
pub struct Warnings {
    stored: Mutex<Vec<Warning>>,
    /// The number of all warnings. It is changed under the lock and read without it.
    count: AtomicU64,
}

impl Warnings {
    pub fn push(&self, warning: Warning) {
        let mut stored = self.stored.lock().unwrap_or_else(|e| e.into_inner());
        self.count.fetch_add(1, Ordering::Relaxed);
        if stored.len() < MAX_STORED {
            stored.push(warning);
        }
    }

    /// Adds the warnings of another list, which is empty afterwards.
    pub fn append(&self, other: &Self) {
        let (mut list, count) = other.take();
        if count == 0 {
            return;
        }
        let mut stored = self.stored.lock().unwrap_or_else(|e| e.into_inner());
        list.truncate(MAX_STORED.saturating_sub(stored.len()));
        stored.append(&mut list);
        self.count.fetch_add(count, Ordering::Relaxed);
    }

    /// Removes the stored warnings. Returns them, and the number of all warnings.
    pub fn take(&self) -> (Vec<Warning>, u64) {
        let mut stored = self.stored.lock().unwrap_or_else(|e| e.into_inner());
        (
            std::mem::take(&mut *stored),
            self.count.swap(0, Ordering::Relaxed),
        )
    }

    /// The number of warnings so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Changes the stored warnings after the first `mark`.
    pub fn change_since(&self, mark: u64, change: impl FnMut(&mut Warning)) {
        let mut stored = self.stored.lock().unwrap_or_else(|e| e.into_inner());
        let from = usize::try_from(mark).unwrap_or(usize::MAX);
        stored.iter_mut().skip(from).for_each(change);
    }

    /// Removes the warnings after the first `mark`. They can be reported later, between others.
    pub fn take_back(&self, mark: u64) -> TakenBack<'_> {
        let end = self.count();
        let mut list = Vec::new();
        if end > mark {
            let mut stored = self.stored.lock().unwrap_or_else(|e| e.into_inner());
            let from = usize::try_from(mark).map_or(stored.len(), |mark| mark.min(stored.len()));
            list = stored.split_off(from);
            self.count.store(mark, Ordering::Relaxed);
        }
        TakenBack {
            warnings: self,
            list: list.into_iter(),
            reported: mark,
            end,
        }
    }
}

/// Removed warnings that are reported later. Those that are not reported are dropped.
pub struct TakenBack<'w> {
    warnings: &'w Warnings,
    list: vec::IntoIter<Warning>,
    /// The count at which the first of the remaining warnings was pushed, as of [`Warnings::count`].
    reported: u64,
    end: u64,
}

impl TakenBack<'_> {
    /// Reports the warnings that had been pushed when [`Warnings::count`] was `mark`.
    pub fn report_until(&mut self, mark: u64) {
        while self.reported < mark.min(self.end) {
            self.reported += 1;
            match self.list.next() {
                Some(warning) => self.warnings.push(warning),
                None => {
                    self.warnings.count.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    pub fn report_all(mut self) {
        self.report_until(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(number: u64) -> Warning {
        Warning::warning(1, number.to_string())
    }

    fn reported(warnings: &Warnings) -> String {
        let (stored, _) = warnings.take();
        stored
            .iter()
            .map(|w| w.message.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn warnings_taken_back_are_reported_between_others() {
        let warnings = Warnings::default();
        (0..5).for_each(|i| warnings.push(warning(i)));
        let mut later = warnings.take_back(2);
        assert_eq!(warnings.count(), 2);
        later.report_until(4);
        warnings.push(warning(100));
        later.report_until(4);
        later.report_all();
        assert_eq!(warnings.count(), 6);
        assert_eq!(reported(&warnings), "0 1 2 3 100 4");
    }

    #[test]
    fn warnings_that_are_not_stored_are_counted() {
        let warnings = Warnings::default();
        let most = MAX_STORED as u64;
        (0..most + 10).for_each(|i| warnings.push(warning(i)));
        let mut later = warnings.take_back(1);
        later.report_until(3);
        warnings.push(warning(5000));
        later.report_all();
        let (stored, count) = warnings.take();
        assert_eq!((stored.len() as u64, count), (most, most + 11));
        assert_eq!(stored[3].message, "5000");
        assert_eq!(stored[MAX_STORED - 1].message, (most - 2).to_string());
    }
}
