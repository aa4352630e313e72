//! Prepared transactions of a store that processes share: all their keys are prewritten, their locks never
//! expire, and any process ends them ([`crate::prepared`] is for a store of one process).
//!
//! 1. [`Transaction::prepare_detached`] takes the locks that the commit would take, and that of a key of its
//!    own, the primary. It gives what any process needs to end the transaction.
//! 2. The caller stores these bytes, before anything is prewritten: the locks of step 3 stay until somebody
//!    removes them.
//! 3. [`Transaction::detach`] prewrites all keys, the primary first.
//! 4. [`Store::end_detached`], in any process, commits the primary or rolls it back. Where several do so at the
//!    same time, the first one decides, and all get its decision.
//! 5. [`Store::finish_detached`] does the same to the other keys. A transaction that meets one of them before
//!    looks at the primary.
//! 6. The caller removes what it has stored, and the primary's value, which shows that it was committed.
//!
//! ```text
//! {format: 2} {start timestamp: 8} {length: 4} {primary} {number of keys: 4} { {length: 4} {key} }
//! ```
//!
//! Numbers are big-endian.

use crate::error::{Error, Result};
use crate::lock::{LockMode, LockOptions, LockWait};
use crate::prepared::{Rest, damaged, put_bytes, put_number};
use crate::store::Store;
use crate::timestamp::Timestamp;
use crate::transaction::Transaction;

const FORMAT: u8 = 2;

/// What identifies a transaction that is detached from its process, and where it has left locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    pub start_ts: Timestamp,
    /// Only this transaction ever locks it. It decides the outcome.
    pub primary: Vec<u8>,
    /// All keys but the primary, in order.
    pub keys: Vec<Vec<u8>>,
}

/// How a detached transaction has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetachedEnd {
    Committed(Timestamp),
    RolledBack,
}

impl DetachedEnd {
    pub fn is_committed(self) -> bool {
        matches!(self, Self::Committed(_))
    }
}

impl Detached {
    /// # Errors
    /// [`Error::NotPrepared`] for a key that is too long to be one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let bytes: usize = self.keys.iter().map(|key| key.len() + 4).sum();
        let mut out = Vec::with_capacity(bytes + self.primary.len() + 17);
        out.push(FORMAT);
        out.extend(self.start_ts.to_be_bytes());
        put_bytes(&self.primary, &mut out)?;
        put_number(self.keys.len(), &mut out)?;
        for key in &self.keys {
            put_bytes(key, &mut out)?;
        }
        Ok(out)
    }

    /// # Errors
    /// [`Error::Corrupt`]
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        rest.format(FORMAT)?;
        let start_ts = <[u8; 8]>::try_from(rest.take(8)?).map_err(|_| damaged())?;
        let primary = rest.bytes()?;
        // Not by the number that is stored: it may be damaged.
        let mut keys = Vec::new();
        for _ in 0..rest.number()? {
            keys.push(rest.bytes()?);
        }
        match rest.0.is_empty() {
            true => Ok(Self {
                start_ts: Timestamp::from_be_bytes(start_ts),
                primary,
                keys,
            }),
            false => Err(damaged()),
        }
    }
}

impl Transaction {
    /// Locks exclusively all that it has written or locked, and `primary`, a key that nothing else uses. What
    /// is returned has to be stored before [`Transaction::detach`].
    ///
    /// # Errors
    /// [`Error::NotPrepared`] for an optimistic transaction, one with writes of private keys, and on an engine
    /// that one process has to itself; those of the locks. It has to be rolled back then.
    pub fn prepare_detached(&mut self, primary: Vec<u8>) -> Result<Detached> {
        if self.is_optimistic() || self.has_private_writes() {
            return Err(Error::NotPrepared);
        }
        self.check_whole()?;
        let options = self.exclusive();
        let mut keys = self.locks.held_keys().ok_or(Error::NotPrepared)?;
        keys.extend(self.buffer.iter().map(|(key, _)| key.to_vec()));
        keys.sort_unstable();
        keys.dedup();
        // The primary last, so that the locks point to it only once it is prewritten.
        keys.push(primary);
        self.locks.lock_only(&keys, &options)?;
        self.check_guards()?;
        Ok(Detached {
            start_ts: self.start_ts(),
            primary: keys.pop().unwrap_or_default(),
            keys,
        })
    }

    /// Prewrites all keys, with locks that stay until [`Store::end_detached`].
    ///
    /// # Errors
    /// Those of a commit. Nothing is left then but what [`Store::end_detached`] removes.
    pub fn detach(self, detached: &Detached) -> Result<()> {
        let options = self.exclusive();
        self.locks.detach(&self.buffer, detached, &options)
    }

    pub(crate) fn exclusive(&self) -> LockOptions {
        LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(self.options.commit_lock_wait),
            interrupt: self.options.interrupt.clone().unwrap_or_default(),
        }
    }
}

impl Store {
    /// Commits a detached transaction or rolls it back. If it has been ended before, that stays. The other keys
    /// are locked until [`Store::finish_detached`] or until somebody meets them.
    ///
    /// # Errors
    /// Those of the cluster: it may have been ended or not, and another call tells.
    pub fn end_detached(&self, detached: &Detached, commit: bool) -> Result<DetachedEnd> {
        self.engine().end_detached(detached, commit)
    }

    /// How a detached transaction has ended; `None` if it waits for that.
    ///
    /// # Errors
    /// Those of the cluster.
    pub fn detached_end(&self, detached: &Detached) -> Result<Option<DetachedEnd>> {
        self.engine().detached_end(detached)
    }

    /// Ends a detached transaction at its other keys as it has ended at its primary.
    ///
    /// # Errors
    /// Those of the cluster: call it again.
    pub fn finish_detached(&self, detached: &Detached, end: DetachedEnd) -> Result<()> {
        self.engine().finish_detached(detached, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_broken_ones_are_refused() {
        let detached = Detached {
            start_ts: 77,
            primary: b"p".to_vec(),
            keys: vec![b"a".to_vec(), Vec::new(), vec![0xFF; 300]],
        };
        let bytes = detached.encode().unwrap();
        assert_eq!(Detached::decode(&bytes), Ok(detached));
        for end in 0..bytes.len() {
            assert!(Detached::decode(&bytes[..end]).is_err(), "{end} bytes");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xFF;
            // Whatever it says now, it does not panic.
            let _ = Detached::decode(&broken);
        }
        assert!(Detached::decode(&[bytes, vec![0]].concat()).is_err());
    }
}
