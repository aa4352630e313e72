//! Runs a workload: threads, turns, the clock, and what was measured.
//!
//! - [`rung`]: one number of threads for some time; [`ladder`]: several, one after the other.
//! - `drive`: one worker's loop, in the turns of [`schedule`] and on the time of [`clock`].
//! - [`samples`], [`tally`], `counter`: from single latencies to the figures of [`crate::result`].
//! - [`process`]: what the server costs, where it is on this host.

pub mod clock;
mod counter;
mod drive;
mod gate;
pub mod ladder;
pub mod process;
pub mod rung;
pub mod samples;
pub mod schedule;
pub mod tally;

pub use ladder::Threads;
pub use process::Process;
pub use rung::Plan;
