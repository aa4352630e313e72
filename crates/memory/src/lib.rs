//! The process' memory: how much it may use, and a broker that distributes it.
//!
//! The process has one limit. Parts of a fixed size (caches, RocksDB's write buffers, the program itself) are
//! subtracted when the server starts. The rest is for statements and transactions: each counts what it holds
//! in an [`Account`], and takes from the [`Broker`] what it needs beyond a small amount that needs no broker.
//! A large statement waits for its turn. A statement that gets no more spills, or fails alone.
//!
//! Not here: how much memory anything takes, which its owner counts, and the reasons to end a wait
//! ([`WaitControl`]).
//!
//! Where to go next: [`Account`], which holders use; [`Broker`]; [`Plan`], which says what there is.

mod account;
mod broker;
mod control_group;
mod machine;
mod plan;
mod pool;
mod pressure;
mod queue;

pub use account::{Account, Holder};
pub use broker::{Broker, Figures, Grant};
pub use machine::machine_bytes;
pub use plan::{Part, Plan};
pub use pool::Share;
pub use pressure::Process;
pub use queue::{MemoryRequest, WaitControl};

#[cfg(test)]
mod tests;

/// Why a holder gets no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It would exceed its limit, in bytes.
    Limit(usize),
    /// Others hold the memory, and it was not allowed to wait, or has waited as long as allowed.
    InUse,
    /// The wait was interrupted.
    Interrupted,
}
