//! Runs a workload: threads, turns, the clock, and measurements.
//!
//! - `plan`, [`rung`]: one number of threads for some time; [`ladder`]: several, one after the other.
//! - `drive`: one worker's loop, with the turns of [`schedule`] and the time of [`clock`].
//! - [`samples`], [`tally`], `counter`: from single latencies to the figures of [`crate::result`].
//! - [`process`]: the server's resource usage, if it is on this host.

pub mod clock;
mod counter;
mod drive;
mod gate;
pub mod ladder;
mod plan;
pub mod process;
pub mod rung;
pub mod samples;
pub mod schedule;
pub mod tally;

pub use ladder::Threads;
pub use plan::Plan;
pub use process::Process;
