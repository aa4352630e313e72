//! What one holder has in memory: a statement, a transaction, a cursor.

use crate::Refused;
use crate::broker::{Broker, Grant};
use crate::pool::Share;
use crate::queue::{Ask, Patience};

/// Counts bytes against a limit of its own and the process' budget.
///
/// Up to [`Broker::free_bytes`] it does not ask the broker.
#[derive(Debug)]
pub struct Account {
    holder: Holder,
    limit: usize,
    used: usize,
    /// How far `used` may grow without asking.
    granted: usize,
    grant: Grant,
}

/// Who holds it, which says where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A statement while it runs. Up to [`Broker::large_bytes`] it takes chunks of [`Share::Small`]. Then it is large: it
    /// waits, if it may, until it can have all that its limit allows, so that after that it is never refused for others'
    /// sake.
    Statement,
    /// What outlives a statement, of [`Share::Kept`]; never waits.
    Kept,
    /// A transaction's writes: as above, and what is left of [`Share::Large`].
    Transaction,
    /// A packet of a client's, from its first bytes until its command has run: as a transaction's writes.
    Packet,
}

/// Taken at a time, at least.
const CHUNK_BYTES: usize = 1 << 20;

impl Account {
    pub fn new(broker: &'static Broker, holder: Holder, limit_bytes: usize) -> Self {
        Self {
            holder,
            limit: limit_bytes,
            used: 0,
            granted: broker.free_bytes().min(limit_bytes),
            grant: broker.grant(),
        }
    }

    /// Counts `bytes` more. `patience`: what ends a wait; `None`: it must not wait.
    ///
    /// # Errors
    /// All of [`Refused`]. The bytes are counted all the same.
    pub fn grow(&mut self, bytes: usize, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        self.resize(self.used.saturating_add(bytes), patience)
    }

    /// Counts `bytes` in all.
    ///
    /// # Errors
    /// As [`Account::grow`].
    #[inline]
    pub fn resize(&mut self, bytes: usize, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        self.used = bytes;
        if bytes <= self.granted {
            return Ok(());
        }
        self.ask(patience)
    }

    pub fn shrink(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Whether it holds anything that others could have.
    pub fn holds_any(&self) -> bool {
        [Share::Small, Share::Kept, Share::Large]
            .iter()
            .any(|share| self.holds(*share))
    }

    pub fn holds(&self, share: Share) -> bool {
        self.grant.held(share) > 0
    }

    #[cold]
    fn ask(&mut self, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        let result = self.ask_for_more(patience);
        if matches!(result, Err(Refused::Limit(_) | Refused::InUse)) {
            self.grant.broker().count_refusal();
        }
        result
    }

    fn ask_for_more(&mut self, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        if self.used > self.limit {
            return Err(Refused::Limit(self.limit));
        }
        let missing = self.used - self.granted;
        match self.holder {
            Holder::Statement => self.ask_for_statement(missing, patience),
            Holder::Kept => self.take(Share::Kept, missing),
            Holder::Transaction | Holder::Packet => self
                .take(Share::Kept, missing)
                .or_else(|_| self.take(Share::Large, missing)),
        }
    }

    fn ask_for_statement(&mut self, missing: usize, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        if self.holds(Share::Large) {
            return self.take(Share::Large, missing);
        }
        let small = self.grant.held(Share::Small) + missing;
        if small <= self.grant.broker().large_bytes() && self.take(Share::Small, missing).is_ok() {
            return Ok(());
        }
        self.become_large(patience)
    }

    /// Takes a chunk that has `missing` bytes.
    fn take(&mut self, share: Share, missing: usize) -> Result<(), Refused> {
        let most = self.limit - self.granted;
        let chunk = missing.max(CHUNK_BYTES.max(self.granted / 4).min(most));
        let bytes = if self.grant.take(share, chunk) {
            chunk
        } else if self.grant.take(share, missing) {
            missing
        } else {
            return Err(Refused::InUse);
        };
        self.granted += bytes;
        Ok(())
    }

    fn become_large(&mut self, patience: Option<&dyn Patience>) -> Result<(), Refused> {
        let all = self.limit.min(self.grant.broker().capacity(Share::Large));
        if self.used > all {
            return Err(Refused::Limit(all));
        }
        self.granted = self.grant.admit(Ask::exactly(all), patience)?;
        self.limit = all;
        self.grant.give_back(Share::Small, usize::MAX);
        Ok(())
    }

    /// Gives back what it does not use: it has grown as far as it will.
    pub fn trim(&mut self) {
        if self.holds(Share::Large) {
            let unused = self.granted.saturating_sub(self.used.max(CHUNK_BYTES));
            self.grant.give_back(Share::Large, unused);
            self.granted -= unused;
        }
    }
}
