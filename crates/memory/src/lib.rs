//! The memory of the process: how much it may have, and a broker that shares it out.
//!
//! The process has one limit. What has a fixed size (caches, RocksDB's write buffers, the program itself) is taken off when
//! the server starts. The rest is for statements and transactions: each counts what it holds in an [`Account`] and takes
//! from the [`Broker`] what it needs beyond a little, which needs no broker. A large statement waits for its turn; a
//! statement that gets no more spills, or fails alone.
//!
//! Not here: what anything in particular takes (it says so itself), and waiting's reasons to end ([`Patience`]).

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
pub use queue::{Ask, Patience};

#[cfg(test)]
mod tests;

/// Why somebody gets no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It would hold more than it may, in bytes.
    Limit(usize),
    /// Others hold what the process may have, and it was not to wait, or has waited as long as anybody may.
    InUse,
    /// The wait was interrupted.
    Interrupted,
}
