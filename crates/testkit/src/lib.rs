//! What tests of several crates need: an engine that fails on demand, and a clock that a seed drives.
//!
//! - [`Faults`] and [`faulty_memory_store`]: failed, slow and undetermined commits, failed syncs, failed reads.
//! - [`SeededClock`]: jumps, standstills and steps back, the same for the same seed.

mod clock;
mod faults;

pub use clock::SeededClock;
pub use faults::{Fault, Faults, FaultyStorage, faulty_memory_store};
