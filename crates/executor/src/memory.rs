//! How many bytes one statement holds on to: sorts, groups, rows collected before they are changed.
//!
//! Not here: the size of a transaction's write buffer, which `kv` limits itself.

use std::cell::Cell;

use types::{Error, Result, errno};

/// Counts what a statement's operators hold; beyond the limit the statement fails, and nothing else does.
pub(crate) struct Memory {
    used: Cell<usize>,
    limit: usize,
}

impl Memory {
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            used: Cell::new(0),
            limit: limit_bytes,
        }
    }

    /// Counts `bytes` more. Fails with 8175 when the limit is passed.
    pub fn grow(&self, bytes: usize) -> Result<()> {
        let used = self.used.get().saturating_add(bytes);
        self.used.set(used);
        if used <= self.limit {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_MEMORY_EXCEEDED,
            format!(
                "The statement needs more memory than the {} bytes one statement may hold; narrow what it sorts, groups or \
                 changes, or raise the limit",
                self.limit
            ),
        ))
    }

    pub fn shrink(&self, bytes: usize) {
        self.used.set(self.used.get().saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fails_beyond_the_limit_and_recovers_below_it() {
        let memory = Memory::new(100);
        memory.grow(100).unwrap();
        assert_eq!(memory.grow(1).unwrap_err().code, errno::ER_MEMORY_EXCEEDED);
        memory.shrink(51);
        memory.grow(50).unwrap();
    }
}
