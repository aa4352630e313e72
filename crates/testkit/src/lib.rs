//! Helpers for the tests of several crates: an engine with injected faults, a clock driven by a seed, a
//! cluster.
//!
//! - [`Faults`] and [`faulty_memory_store`]: failed, slow and undetermined commits, failed syncs, failed
//!   reads, panics, and reads and collections that wait at a [`Gate`].
//! - [`SeededClock`]: jumps, standstills and steps back, the same for the same seed.
//! - [`StandIn`]: a TiKV cluster in one process, and its control port.
//!
//! Not here: the conformance suite of engines (`kv-tests`), and black-box tests of the server
//! (`tests/runner`). Where to go next: `kv-tests/tests`, whose files use all of it.

mod clock;
mod faults;
mod gate;
mod stand_in;

pub use clock::SeededClock;
pub use faults::{Fault, Faults, FaultyStorage, Step, faulty_memory_store};
pub use gate::Gate;
pub use stand_in::{NEEDS, StandIn};
