//! DataFusion's surroundings: threads, memory, disk for spilling.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::aggregate_statistics::AggregateStatistics;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use tokio::runtime::Runtime;
use types::{Error, Result};

/// Bounds of one query.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes its operators may hold; sorts and groups beyond it spill.
    pub memory_bytes: usize,
    /// Where they spill to.
    pub spill_directory: PathBuf,
}

/// Rows an operator works on at a time.
pub const BATCH_ROWS: usize = 8192;

/// Worker threads for all queries of the process: one per core, started when the first query needs them.
pub fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(partitions())
            .thread_name("analytics")
            .enable_time()
            .build()
    });
    made.as_ref()
        .map_err(|e| Error::internal(format_args!("cannot start the analytics threads: {e}")))
}

/// How many pieces a query is cut into.
pub fn partitions() -> usize {
    std::thread::available_parallelism().map_or(2, NonZeroUsize::get)
}

/// A fresh state for one query, so that its memory is its own.
pub fn session_state(limits: &Limits) -> datafusion::error::Result<SessionState> {
    let consumers_named_in_errors = NonZeroUsize::MIN;
    let pool = TrackConsumersPool::new(FairSpillPool::new(limits.memory_bytes), consumers_named_in_errors);
    let spill = DiskManagerMode::Directories(vec![limits.spill_directory.clone()]);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
        .build_arc()?;
    let config = SessionConfig::new()
        .with_target_partitions(partitions())
        .with_batch_size(BATCH_ROWS);
    Ok(SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(environment)
        .with_physical_optimizer_rules(rules())
        .build())
}

/// DataFusion's rules but for answers from statistics: our scans have none, and a constant's are said to be exact even
/// where there is no row, or where it is NULL.
fn rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| rule.name() != AggregateStatistics::new().name());
    rules
}
