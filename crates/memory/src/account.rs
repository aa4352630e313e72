//! The memory of one holder: a statement, a transaction, a cursor.

use crate::Refused;
use crate::broker::{Broker, Grant};
use crate::pool::{SHARES, Share};
use crate::queue::{MemoryRequest, WaitControl};

/// Counts bytes against a limit of its own and the process' budget.
///
/// Up to [`Broker::free_bytes`] it does not involve the broker.
#[derive(Debug)]
pub struct Account {
    holder: Holder,
    limit: usize,
    used: usize,
    /// How far `used` may grow without asking the broker.
    granted: usize,
    grant: Grant,
}

/// The kind of holder, which says which share its memory is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A statement while it runs. Up to [`Broker::large_bytes`] it takes chunks of [`Share::Small`]. Beyond
    /// that it is a large statement: it waits, if it may, until it can have all that its limit allows, and
    /// after that other holders cannot make it fail.
    Statement,
    /// What outlives a statement, taken from [`Share::Session`]. Never waits.
    Session,
    /// A transaction's writes: taken from [`Share::Session`], then from [`Share::Large`]. Never waits.
    Transaction,
    /// A packet from a client, from its first bytes until its command has run: taken from [`Share::Packets`],
    /// then from [`Share::Session`]. Never waits. It takes nothing from [`Share::Large`], because the
    /// statement in the packet may wait for that share.
    Packet,
}

/// The least that is taken at a time.
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

    /// Counts `bytes` more. `control` can end a wait early; without it the call does not wait.
    ///
    /// # Errors
    /// All of [`Refused`]. The bytes are counted all the same.
    pub fn grow(&mut self, bytes: usize, control: Option<&dyn WaitControl>) -> Result<(), Refused> {
        self.resize(self.used.saturating_add(bytes), control)
    }

    /// Counts `bytes` in all.
    ///
    /// # Errors
    /// As [`Account::grow`].
    #[inline]
    pub fn resize(&mut self, bytes: usize, control: Option<&dyn WaitControl>) -> Result<(), Refused> {
        self.used = bytes;
        if bytes <= self.granted {
            return Ok(());
        }
        self.request(control)
    }

    /// Counts `bytes` more if they are granted, and says whether they are. What can go on without them does not
    /// count as refused.
    ///
    /// # Errors
    /// [`Refused::Interrupted`].
    pub fn try_grow(&mut self, bytes: usize, control: Option<&dyn WaitControl>) -> Result<bool, Refused> {
        self.used = self.used.saturating_add(bytes);
        if self.used <= self.granted {
            return Ok(true);
        }
        match self.request_more(control) {
            Ok(()) => Ok(true),
            Err(Refused::Interrupted) => Err(Refused::Interrupted),
            Err(Refused::Limit(_) | Refused::InUse) => {
                self.used -= bytes;
                Ok(false)
            }
        }
    }

    /// The bytes that are counted.
    pub fn used_bytes(&self) -> usize {
        self.used
    }

    pub fn shrink(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Whether it holds memory from the broker.
    pub fn holds_any(&self) -> bool {
        SHARES.iter().any(|share| self.holds(*share))
    }

    pub fn holds(&self, share: Share) -> bool {
        self.grant.held(share) > 0
    }

    #[cold]
    fn request(&mut self, control: Option<&dyn WaitControl>) -> Result<(), Refused> {
        let result = self.request_more(control);
        if matches!(result, Err(Refused::Limit(_) | Refused::InUse)) {
            self.grant.broker().count_refusal();
        }
        result
    }

    fn request_more(&mut self, control: Option<&dyn WaitControl>) -> Result<(), Refused> {
        if self.used > self.limit {
            return Err(Refused::Limit(self.limit));
        }
        let missing = self.used - self.granted;
        match self.holder {
            Holder::Statement => self.request_for_statement(missing, control),
            Holder::Session => self.take(Share::Session, missing),
            Holder::Transaction => self.take_either(Share::Session, Share::Large, missing),
            Holder::Packet => self.take_either(Share::Packets, Share::Session, missing),
        }
    }

    fn request_for_statement(
        &mut self,
        missing: usize,
        control: Option<&dyn WaitControl>,
    ) -> Result<(), Refused> {
        if self.holds(Share::Large) {
            return self.take(Share::Large, missing);
        }
        let small = self.grant.held(Share::Small) + missing;
        if small <= self.grant.broker().large_bytes() && self.take(Share::Small, missing).is_ok() {
            return Ok(());
        }
        self.become_large(control)
    }

    /// Takes from `second` if `first` has no room.
    fn take_either(&mut self, first: Share, second: Share, missing: usize) -> Result<(), Refused> {
        self.take(first, missing).or_else(|_| self.take(second, missing))
    }

    /// Takes a chunk of at least `missing` bytes.
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

    fn become_large(&mut self, control: Option<&dyn WaitControl>) -> Result<(), Refused> {
        let all = self.limit.min(self.grant.broker().capacity(Share::Large));
        if self.used > all {
            return Err(Refused::Limit(all));
        }
        self.granted = self.grant.admit(MemoryRequest::exactly(all), control)?;
        self.limit = all;
        self.grant.give_back(Share::Small, usize::MAX);
        Ok(())
    }

    /// Returns memory that it does not use, after it has reached its final size.
    pub fn trim(&mut self) {
        if self.holds(Share::Large) {
            let unused = self.granted.saturating_sub(self.used.max(CHUNK_BYTES));
            self.grant.give_back(Share::Large, unused);
            self.granted -= unused;
        }
    }
}
