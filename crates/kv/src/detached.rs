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
//! What is stored: [`crate::detached_branch`].

use crate::detached_branch::{Detached, DetachedEnd};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::transaction::Transaction;

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
