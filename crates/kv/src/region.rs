//! Parts of the key space that a store keeps, replicates and moves as a whole. An engine within this process has one.

/// One of them, as far as the engine knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Region {
    pub id: u64,
    /// Empty: no bound, or one outside of this database.
    pub start: Vec<u8>,
    /// As `start`.
    pub end: Vec<u8>,
    /// The replica that serves it, and where; 0 if there is none now.
    pub leader: u64,
    pub leader_store: u64,
    /// All replicas.
    pub replicas: Vec<u64>,
    /// Whether it is on its way to other stores.
    pub is_moving: bool,
    /// About how many bytes it takes; `None` if the engine is not told.
    pub approximate_bytes: Option<u64>,
}

/// What became of a request to split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SplitReport {
    /// How many regions came to be.
    pub split: usize,
    /// How many of them have found their place among the stores.
    pub scattered: usize,
}
