//! The settings of one rung.

use std::time::Duration;

use super::process::Process;

/// How a rung is run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub threads: usize,
    /// Operations per second over all threads; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Time before the clock starts.
    pub warm_up: Duration,
    pub time: Duration,
    /// Ends the run after so many operations, including those of the warm-up.
    pub operations_max: Option<u64>,
    /// The time between lines of progress, and between points of the series.
    pub interval: Duration,
    /// For how long to try to open lost connections again.
    pub reconnect: Duration,
    /// The server's process, if it is on this host.
    pub server: Option<Process>,
}
