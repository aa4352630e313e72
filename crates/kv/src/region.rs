//! Regions: parts of the key space that a cluster stores, replicates and moves as a whole. An engine within
//! this process has one.

/// One region, as far as the engine knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Region {
    pub id: u64,
    /// Empty: no bound, or one outside this database.
    pub start: Vec<u8>,
    /// As `start`.
    pub end: Vec<u8>,
    /// The replica that serves it, and its store; 0 if there is none now.
    pub leader: u64,
    pub leader_store: u64,
    /// All replicas.
    pub replicas: Vec<u64>,
    /// Whether it is being moved to other stores.
    pub is_moving: bool,
    /// About how many bytes it takes; `None`: unknown.
    pub approximate_bytes: Option<u64>,
}

/// The result of a request to split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitReport {
    /// Regions that were created.
    pub split: usize,
    /// How many of them have been moved to their stores.
    pub scattered: usize,
}
