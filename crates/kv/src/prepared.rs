//! Transactions that are prepared: all that can fail has been done, and what is left is to commit them or to
//! roll them back, maybe after a restart (XA, manual 13.3.8). This is the way of a store that one process has to
//! itself; [`crate::detached`] is that of a shared one.
//!
//! [`Transaction::prepare`] takes the locks that the commit would take, and gives what
//! [`Store::reinstate`](crate::Store::reinstate) makes the same transaction of: its writes and its locks. The
//! caller stores these bytes with a transaction of its own, and lets the prepared one delete them with its
//! end ([`Transaction::end_prepared`]), so that either both are there or neither. An end that fails leaves it
//! prepared. Before any other transaction reads or writes a store that has been opened again, the caller
//! reinstates what is stored there.
//!
//! ```text
//! {format: 1} {number of locks: 4} { {mode: 1} {length: 4} {key} }
//!             {number of writes: 4} { {kind: 1} {length: 4} {key} [{length: 4} {value}] }
//! ```
//!
//! Numbers are big-endian. A mode is 0 for shared and 1 for exclusive, a kind 0 for a deletion and 1 for a
//! value.

use crate::engine::{Durability, KeptTransaction};
use crate::error::{Error, Result};
use crate::lock::{HeldLock, LockMode, LockOptions};
use crate::outcome::outcome_channel;
use crate::prepared_bytes::{Rest, damaged, put_bytes, put_number};
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use std::sync::Arc;

const FORMAT: u8 = 1;
const SHARED: u8 = 0;
const EXCLUSIVE: u8 = 1;
const DELETION: u8 = 0;
const VALUE: u8 = 1;

impl Transaction {
    /// Takes the locks that the commit would take, waits for what it depends on, and gives the bytes that the
    /// transaction can be reinstated from. It sees nothing but its own writes from now on.
    ///
    /// # Errors
    /// [`Error::NotPrepared`] where it cannot outlive this process; those of the locks and of
    /// [`Transaction::settle`]. It has to be rolled back then.
    pub fn prepare(&mut self) -> Result<Vec<u8>> {
        if self.is_optimistic() || self.has_private_writes() {
            return Err(Error::NotPrepared);
        }
        self.check_whole()?;
        let options = self.exclusive();
        let written: Vec<Vec<u8>> = self.buffer.iter().map(|(key, _)| key.to_vec()).collect();
        self.locks.lock_only(&written, &options)?;
        self.settle()?;
        self.check_guards()?;
        let held = self.locks.held().ok_or(Error::NotPrepared)?;
        let bytes = encode(&held, self)?;
        // It may wait for days, so it must not hold back garbage collection: nothing reads as of its start
        // any more. No statement ends it.
        self.snapshot = Snapshot::latest(Arc::clone(self.snapshot.engine()));
        self.options.interrupt = None;
        Ok(bytes)
    }

    /// Ends a prepared transaction: commits its writes or drops them, and deletes `stored`, the keys that it is
    /// stored under.
    ///
    /// # Errors
    /// Those of the commit, with the transaction as it was, its locks held throughout; `None` after a defect.
    /// After [`Error::Undetermined`] the engine takes no more writes, and what is stored decides at the next
    /// start.
    pub fn end_prepared(
        mut self,
        commit: bool,
        stored: impl IntoIterator<Item = Vec<u8>>,
        durability: Durability,
    ) -> std::result::Result<(), (Error, Option<Box<Self>>)> {
        let prepared = Arc::clone(&self.buffer);
        if !commit {
            self.discard_writes();
        }
        // What is stored of a READ ONLY transaction is deleted as well.
        self.options.read_only = false;
        let deleted = stored.into_iter().try_for_each(|key| self.delete(key));
        if let Err(error) = deleted.and_then(|()| self.check_guards()) {
            self.buffer = prepared;
            return Err((error, Some(Box::new(self))));
        }
        let options = self.exclusive();
        let kept = KeptTransaction::default();
        let (sender, receiver) = outcome_channel();
        let mut locks = self.locks;
        locks.keep_if_failed(kept.clone());
        let done = Box::new(move |outcome| sender.send(outcome));
        locks.commit(&self.buffer, &options, durability, None, done);
        let Err(error) = receiver.wait() else {
            return Ok(());
        };
        let Some(locks) = kept.take() else {
            return Err((error, None));
        };
        self.locks = locks;
        self.buffer = prepared;
        Err((error, Some(Box::new(self))))
    }

    /// Takes the locks and the writes of a transaction that was prepared.
    pub(crate) fn take_prepared(&mut self, bytes: &[u8]) -> Result<()> {
        let Prepared { locks, writes } = decode(bytes)?;
        for (key, mode) in locks {
            let options = LockOptions {
                mode,
                ..LockOptions::exclusive(self.options.commit_lock_wait)
            };
            self.locks.lock_only(&[key], &options)?;
        }
        for (key, value) in writes {
            match value {
                Some(value) => self.put(key, value)?,
                None => self.delete(key)?,
            }
        }
        Ok(())
    }
}

struct Prepared {
    locks: Vec<(Vec<u8>, LockMode)>,
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

fn encode(held: &[HeldLock], transaction: &Transaction) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(transaction.size_bytes());
    out.push(FORMAT);
    put_number(held.len(), &mut out)?;
    for (key, mode) in held {
        out.push(match mode {
            LockMode::Shared => SHARED,
            LockMode::Exclusive => EXCLUSIVE,
        });
        put_bytes(key, &mut out)?;
    }
    let writes = transaction.writes();
    put_number(writes.len(), &mut out)?;
    for (key, value) in writes.iter() {
        out.push(if value.is_some() { VALUE } else { DELETION });
        put_bytes(key, &mut out)?;
        if let Some(value) = value {
            put_bytes(value, &mut out)?;
        }
    }
    Ok(out)
}

fn decode(bytes: &[u8]) -> Result<Prepared> {
    let mut rest = Rest(bytes);
    rest.format(FORMAT)?;
    // Not by the number that is stored: it may be damaged.
    let mut locks = Vec::new();
    for _ in 0..rest.number()? {
        let mode = match rest.byte()? {
            SHARED => LockMode::Shared,
            EXCLUSIVE => LockMode::Exclusive,
            _ => return Err(damaged()),
        };
        locks.push((rest.bytes()?, mode));
    }
    let mut writes = Vec::new();
    for _ in 0..rest.number()? {
        let kind = rest.byte()?;
        let key = rest.bytes()?;
        writes.push(match kind {
            DELETION => (key, None),
            VALUE => (key, Some(rest.bytes()?)),
            _ => return Err(damaged()),
        });
    }
    match rest.0.is_empty() {
        true => Ok(Prepared { locks, writes }),
        false => Err(damaged()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::txn_options::TxnOptions;

    #[test]
    fn broken_bytes_are_refused() {
        let store = Store::memory();
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        txn.put(b"a".to_vec(), b"1".to_vec()).unwrap();
        txn.delete(b"b".to_vec()).unwrap();
        let bytes = txn.prepare().unwrap();
        assert!(decode(&bytes).is_ok());
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end} bytes");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xFF;
            // Whatever it says now, it does not panic.
            let _ = decode(&broken);
        }
        assert!(decode(&[bytes, vec![0]].concat()).is_err());
    }
}
