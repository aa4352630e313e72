//! The sizes the store accepts, each with its own error.

use crate::error::{Error, Result};

/// Explicit limits, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// MySQL's longest index entry is 3,072 bytes; collation weights and escaping can more than double it.
    pub key_bytes: usize,
    /// One row. A LONGBLOB may be longer in MySQL, up to `max_allowed_packet`, whose default is 64 MiB too.
    pub value_bytes: usize,
    /// All writes of one transaction, with what savepoints keep of overwritten ones. While it commits, an
    /// embedded engine takes about three times that in memory.
    pub transaction_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            key_bytes: 8 << 10,
            value_bytes: 64 << 20,
            transaction_bytes: 1 << 30,
        }
    }
}

impl Limits {
    pub(crate) fn check_key(&self, key: &[u8]) -> Result<()> {
        if key.len() > self.key_bytes {
            return Err(Error::KeyTooLarge {
                size_bytes: key.len(),
                limit_bytes: self.key_bytes,
            });
        }
        Ok(())
    }

    pub(crate) fn check_value(&self, value: &[u8]) -> Result<()> {
        if value.len() > self.value_bytes {
            return Err(Error::ValueTooLarge {
                size_bytes: value.len(),
                limit_bytes: self.value_bytes,
            });
        }
        Ok(())
    }

    pub(crate) fn check_transaction(&self, size_bytes: usize) -> Result<()> {
        if size_bytes > self.transaction_bytes {
            return Err(Error::TransactionTooLarge {
                size_bytes,
                limit_bytes: self.transaction_bytes,
            });
        }
        Ok(())
    }
}
