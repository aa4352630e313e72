//! Single measurements, passed from the workers to the one thread that counts them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// One operation that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub latency_ns: u64,
    /// Statements it sent.
    pub statements: u32,
    /// Position in the workload's operations.
    pub operation: u16,
    pub failed: bool,
}

/// The queue of one worker's samples. The worker holds the lock for one push; the counting thread takes it
/// once a second.
#[derive(Debug, Default)]
pub struct SampleLog {
    samples: Mutex<Vec<Sample>>,
}

impl SampleLog {
    pub fn push(&self, sample: Sample) {
        self.samples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(sample);
    }

    /// Moves the samples into `out`, which must be empty. Its memory is used for later samples.
    pub fn take(&self, out: &mut Vec<Sample>) {
        std::mem::swap(
            &mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner),
            out,
        );
    }
}

/// Errors by code, each with the first message.
#[derive(Debug, Default)]
pub struct ErrorLog {
    errors: Mutex<BTreeMap<u16, (u64, String)>>,
}

impl ErrorLog {
    pub fn add(&self, error: &Error) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = errors
            .entry(error.code())
            .or_insert_with(|| (0, error.to_string()));
        entry.0 += 1;
    }

    /// Takes out the errors: code, count, first message.
    pub fn take(&self) -> Vec<(u16, u64, String)> {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *errors)
            .into_iter()
            .map(|(code, (count, message))| (code, count, message))
            .collect()
    }
}
