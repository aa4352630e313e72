//! How many bytes one statement holds on to: sorts, groups, rows collected before they are changed.
//!
//! Not here: where they come from (`memory`), and a transaction's write buffer, which `kv` counts.

use std::cell::RefCell;

use ::memory::{Account, Holder, Refused};
use types::{Error, Result, errno};

use crate::context::ExecContext;

/// Counts what a statement's operators hold; beyond its limit, or where the process has no more, the statement fails, and
/// nothing else does.
pub(crate) struct Memory<'e> {
    account: RefCell<Account>,
    interrupt: &'e kv::Interrupt,
    /// Whether it may wait for memory.
    waits: bool,
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
            waits: true,
        }
    }

    /// Of a statement in `txn`. Where that holds memory that large statements wait for, this must not be one of them.
    pub fn in_transaction(ctx: &ExecContext<'e>, txn: &kv::Transaction) -> Self {
        Self {
            waits: !txn.holds_shared_memory(),
            ..Self::new(ctx)
        }
    }

    /// Counts `bytes` more. A large statement waits here for its turn. Fails with 8175 when the limit is passed or no memory
    /// is left, with 1317 once interrupted.
    pub fn grow(&self, bytes: usize) -> Result<()> {
        let patience = self.waits.then_some(self.interrupt as &dyn ::memory::WaitControl);
        let mut account = self.account.borrow_mut();
        account.grow(bytes, patience).map_err(refused)
    }

    pub fn shrink(&self, bytes: usize) {
        self.account.borrow_mut().shrink(bytes);
    }

    /// It has grown as far as it will: what it does not use is for others.
    pub fn trim(&self) {
        self.account.borrow_mut().trim();
    }
}

/// What the client is told.
pub fn refused(reason: Refused) -> Error {
    let text = match reason {
        Refused::Limit(bytes) => format!(
            "The statement needs more memory than the {bytes} bytes one statement may hold; narrow what it sorts, groups or \
             changes, or raise the limit"
        ),
        Refused::InUse => "The statement needs more memory than the server has left beside what others hold; run it again \
                           when less is going on, narrow what it sorts, groups or changes, or raise memory.limit_bytes"
            .to_owned(),
        Refused::Interrupted => return kv::Error::Interrupted.into(),
    };
    Error::new(errno::ER_MEMORY_EXCEEDED, text)
}
