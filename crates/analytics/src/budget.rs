//! One query's part of the process' memory.
//!
//! A query begins with a part of what is free, and waits for it if need be. Its part grows when an operator
//! needs more, and shrinks only when the query ends: memory that operators have been granted is not taken
//! back.

use ::memory::{Grant, MemoryRequest, Refused, Share};
use kv::Interrupt;

use crate::limits::{Limits, SHARES};

/// The least bytes that a query's operators need if they spill.
const LEAST_BYTES: usize = 16 << 20;

/// The most bytes that a query is granted at its start.
const FIRST_BYTES: usize = 256 << 20;

/// See [`crate::memory::QueryMemory`], which divides it among operators.
#[derive(Debug)]
pub struct Budget {
    grant: Grant,
    /// The bytes that operators may hold now.
    limit: usize,
    /// The bytes that they may hold at most.
    most: usize,
}

/// The memory to reserve for a query whose operators hold `operators` bytes: half as much again, for batches
/// in transit, which are not counted.
fn with_batches(operators: usize) -> usize {
    operators.saturating_add(operators / 2)
}

impl Budget {
    /// Waits for the memory that a query needs to begin.
    ///
    /// # Errors
    /// [`Refused::InUse`], [`Refused::Interrupted`].
    pub fn admit(limits: &Limits, interrupt: &Interrupt) -> Result<Self, Refused> {
        let mut grant = limits.memory.grant();
        let most = limits.memory_bytes;
        let ask = MemoryRequest {
            least: with_batches(most.min(LEAST_BYTES)),
            most: with_batches(most.min(FIRST_BYTES)),
            // Left free for a statement of the transactional executor, which cannot spill.
            leave: most,
        };
        let granted = grant.admit(ask, Some(interrupt))?;
        Ok(Self {
            limit: (granted - granted / 3).min(most),
            most,
            grant,
        })
    }

    /// A fixed budget of `bytes` for operators.
    #[cfg(test)]
    pub fn fixed(bytes: usize) -> Self {
        Self {
            grant: ::memory::Broker::unlimited().grant(),
            limit: bytes,
            most: bytes,
        }
    }

    /// The bytes that operators may hold now.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Raises the limit, at most to twice its value. Returns whether it did. `can_spill`: the operator that
    /// needs more can spill instead.
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

    /// How many bytes of rows a batch may have, not counting its last row.
    pub fn batch_bytes(&self, partitions: usize) -> usize {
        self.limit / partitions / SHARES
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
