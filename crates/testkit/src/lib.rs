//! What tests of several crates need: an engine that fails on demand, a clock that a seed drives, a cluster.
//!
//! - [`Faults`] and [`faulty_memory_store`]: failed, slow and undetermined commits, failed syncs, failed reads, panics, and
//!   reads and collections that a [`Gate`] holds up.
//! - [`SeededClock`]: jumps, standstills and steps back, the same for the same seed.
//! - [`StandIn`]: a TiKV cluster in one process, and its control port.

mod clock;
mod faults;
mod gate;
mod stand_in;

pub use clock::SeededClock;
pub use faults::{Fault, Faults, FaultyStorage, faulty_memory_store};
pub use gate::Gate;
pub use stand_in::{NEEDS, StandIn};
