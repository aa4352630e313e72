//! What one query has of the process' memory.
//!
//! It begins with a part of what is free, for which it waits if need be, and tries to get more when an operator needs more. It
//! never gives back any before its end: what operators were promised stays theirs.

use ::memory::{Grant, MemoryRequest, Refused, Share};
use kv::Interrupt;

use crate::runtime::{Limits, SHARES, partitions};

/// Bytes that a query's operators can do with, spilling.
const LEAST_BYTES: usize = 16 << 20;

/// Bytes that no query needs to begin with.
const FIRST_BYTES: usize = 256 << 20;

/// See [`crate::memory::QueryMemory`], which shares it out.
#[derive(Debug)]
pub struct Budget {
    grant: Grant,
    /// What operators may hold now.
    limit: usize,
    /// What they may ever hold.
    most: usize,
}

/// What a query takes whose operators hold so much: half as much again, for batches on their way, which nobody counts.
fn with_batches(operators: usize) -> usize {
    operators.saturating_add(operators / 2)
}

impl Budget {
    /// Waits for what a query needs to begin.
    ///
    /// # Errors
    /// [`Refused::InUse`], [`Refused::Interrupted`].
    pub fn admit(limits: &Limits, interrupt: &Interrupt) -> Result<Self, Refused> {
        let mut grant = limits.memory.grant();
        let most = limits.memory_bytes;
        let ask = MemoryRequest {
            least: with_batches(most.min(LEAST_BYTES)),
            most: with_batches(most.min(FIRST_BYTES)),
            // For a statement of the other executor, which cannot spill.
            leave: most,
        };
        let granted = grant.admit(ask, Some(interrupt))?;
        Ok(Self {
            limit: (granted - granted / 3).min(most),
            most,
            grant,
        })
    }

    /// `bytes` for operators, which is all they may ever have.
    #[cfg(test)]
    pub fn fixed(bytes: usize) -> Self {
        Self {
            grant: ::memory::Broker::unlimited().grant(),
            limit: bytes,
            most: bytes,
        }
    }

    /// What operators may hold now, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Raises the limit, at best to twice what it is, and says whether it did. `can_spill`: who wants more can do without.
    pub fn raise(&mut self, can_spill: bool) -> bool {
        let step = self.limit.min(self.most - self.limit);
        let bytes = with_batches(step);
        let taken = step > 0
            && match can_spill {
                true => self.grant.take_if_plenty(Share::Large, bytes, self.most),
                false => self.grant.take(Share::Large, bytes),
            };
        if taken {
            self.limit += step;
        }
        taken
    }

    /// Bytes of rows that a batch may have, but for its last one.
    pub fn batch_bytes(&self) -> usize {
        self.limit / partitions() / SHARES
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ::memory::Broker;

    use super::*;

    fn limits(memory_bytes: usize) -> Limits {
        Limits {
            memory: Broker::unlimited(),
            memory_bytes,
            spill_directory: PathBuf::new(),
        }
    }

    #[test]
    fn begins_with_a_part_and_grows_to_its_limit() {
        let mut budget = Budget::admit(&limits(1_000 << 20), &Interrupt::default()).unwrap();
        assert_eq!(budget.limit(), 256 << 20);
        assert!(budget.raise(true) && budget.raise(false));
        assert_eq!(budget.limit(), 1_000 << 20);
        assert!(!budget.raise(true) && !budget.raise(false));
    }

    #[test]
    fn a_low_limit_is_all_it_has() {
        let mut budget = Budget::admit(&limits(1 << 20), &Interrupt::default()).unwrap();
        assert_eq!(budget.limit(), 1 << 20);
        assert!(!budget.raise(true));
    }
}
