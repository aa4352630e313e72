//! The bytes that one statement holds in sorts, groups, and rows that are collected before they are changed.
//!
//! Not here: the process's budget (`memory`), and a transaction's write buffer, which `kv` counts.

use std::cell::{Cell, RefCell};

use ::memory::{Account, Holder, Refused};
use types::{Error, Result, errno};

use crate::context::ExecContext;

/// Counts the bytes of a statement's operators. If they pass the statement's limit, or the process has no
/// more, only this statement fails.
pub(crate) struct Memory<'e> {
    account: RefCell<Account>,
    interrupt: &'e kv::Interrupt,
    /// Whether it may wait for memory.
    waits: Cell<bool>,
    /// What the statement may hold while it can spill.
    spillable_bytes: usize,
}

impl<'e> Memory<'e> {
    pub fn new(ctx: &ExecContext<'e>) -> Self {
        Self {
            account: RefCell::new(Account::new(
                ctx.memory,
                Holder::Statement,
                ctx.memory_limit_bytes,
            )),
            interrupt: ctx.interrupt,
            waits: Cell::new(true),
            spillable_bytes: ctx.memory_limit_bytes - ctx.memory_limit_bytes / 8,
        }
    }

    /// For a part of a statement that runs on a thread of its own. It does not wait: other statements may be waiting for
    /// memory that this one holds.
    pub fn of_part(ctx: &ExecContext<'e>) -> Self {
        Self {
            waits: Cell::new(false),
            ..Self::new(ctx)
        }
    }

    /// For a statement in `txn`. If the transaction holds memory, the statement does not wait: large
    /// statements may be waiting for that memory.
    pub fn in_transaction(ctx: &ExecContext<'e>, txn: &kv::Transaction) -> Self {
        Self {
            waits: Cell::new(!txn.holds_shared_memory()),
            ..Self::new(ctx)
        }
    }

    /// Adds `bytes`. A large statement waits here for its turn. Fails with 8175 if the limit is passed or no
    /// memory is left, and with 1317 once interrupted.
    pub fn grow(&self, bytes: usize) -> Result<()> {
        let mut account = self.account.borrow_mut();
        account.grow(bytes, self.patience()).map_err(refused)
    }

    /// Adds `bytes` if they are granted, and says whether they are: what can be spilled has to be, otherwise. It
    /// waits for its turn once. The last part of the limit is for what cannot be spilled.
    ///
    /// # Errors
    /// 1317 once interrupted.
    pub fn try_grow(&self, bytes: usize) -> Result<bool> {
        if bytes == 0 {
            return Ok(true);
        }
        let mut account = self.account.borrow_mut();
        if account.used_bytes().saturating_add(bytes) > self.spillable_bytes {
            return Ok(false);
        }
        let granted = account.try_grow(bytes, self.patience()).map_err(refused)?;
        if !granted {
            self.waits.set(false);
        }
        Ok(granted)
    }

    /// As [`Self::try_grow`], without waiting.
    fn try_grow_now(&self, bytes: usize) -> Result<bool> {
        let mut account = self.account.borrow_mut();
        if account.used_bytes().saturating_add(bytes) > self.spillable_bytes {
            return Ok(false);
        }
        account.try_grow(bytes, None).map_err(refused)
    }

    fn patience(&self) -> Option<&dyn ::memory::WaitControl> {
        let interrupt = self.interrupt as &dyn ::memory::WaitControl;
        self.waits.get().then_some(interrupt)
    }

    pub fn shrink(&self, bytes: usize) {
        self.account.borrow_mut().shrink(bytes);
    }

    /// Back to `bytes`: what has been counted since is held no longer.
    pub fn shrink_to(&self, bytes: usize) {
        let mut account = self.account.borrow_mut();
        let more = account.used_bytes().saturating_sub(bytes);
        account.shrink(more);
    }

    /// The bytes that the statement holds.
    pub fn used_bytes(&self) -> usize {
        self.account.borrow().used_bytes()
    }

    /// Returns what is granted and not used. The statement will not grow any more.
    pub fn trim(&self) {
        self.account.borrow_mut().trim();
    }
}

/// What one holder of a statement's memory holds: it changes as the holder grows and shrinks.
#[derive(Default)]
pub(crate) struct Held {
    bytes: usize,
}

impl Held {
    /// Counts `bytes` more if they are granted, and says whether they are.
    ///
    /// # Errors
    /// Those of [`Memory::try_grow`].
    pub fn try_add(&mut self, bytes: usize, memory: &Memory<'_>) -> Result<bool> {
        let granted = memory.try_grow(bytes)?;
        if granted {
            self.bytes += bytes;
        }
        Ok(granted)
    }

    /// Counts `bytes` in all if they are granted, and says whether they are.
    ///
    /// # Errors
    /// Those of [`Memory::try_grow`].
    pub fn try_resize(&mut self, bytes: usize, memory: &Memory<'_>) -> Result<bool> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.try_add(more, memory),
            None => self.resize(bytes, memory).map(|()| true),
        }
    }

    /// Counts `bytes` in all while they are granted at once. What is not granted is not counted: it is little, and
    /// needed to spill.
    ///
    /// # Errors
    /// 1317 once interrupted.
    pub fn note(&mut self, bytes: usize, memory: &Memory<'_>) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => {
                if more > 0 && memory.try_grow_now(more)? {
                    self.bytes = bytes;
                }
                Ok(())
            }
            None => self.resize(bytes, memory),
        }
    }

    /// Counts `bytes` in all.
    ///
    /// # Errors
    /// Those of [`Memory::grow`].
    pub fn resize(&mut self, bytes: usize, memory: &Memory<'_>) -> Result<()> {
        let before = std::mem::replace(&mut self.bytes, bytes);
        match bytes.checked_sub(before) {
            Some(0) => Ok(()),
            Some(more) => memory.grow(more),
            None => {
                memory.shrink(before - bytes);
                Ok(())
            }
        }
    }
}

/// What a key in a set holds besides its bytes.
pub(crate) const KEY_ENTRY_BYTES: usize = 48;

/// The error for the client.
pub fn refused(reason: Refused) -> Error {
    let text = match reason {
        Refused::Limit(bytes) => format!(
            "The statement needs more memory than the {bytes} bytes one statement may hold; narrow what it sorts, groups or \
             changes, or raise stemdb_memory_limit"
        ),
        Refused::InUse => "The statement needs more memory than other statements leave; run it again \
                           while fewer large statements run, narrow what it sorts, groups or changes, or raise [memory] limit_bytes"
            .to_owned(),
        Refused::Interrupted => return kv::Error::Interrupted.into(),
    };
    Error::new(errno::ER_MEMORY_EXCEEDED, text)
}
