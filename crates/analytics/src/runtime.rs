//! What DataFusion runs on: threads, memory, disk for spilling.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use datafusion_common::config::ConfigNonZeroUsize;
use datafusion_execution::TaskContext;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion_execution::memory_pool::TrackConsumersPool;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use scheduling::Turns;
use tokio::runtime::{Handle, Runtime};
use types::{Error, Result};

use crate::limits::{Limits, partitions};
use crate::memory::QueryMemory;

/// The nice value of the threads above that of the server's others (`nice(2)`; on Linux it is per thread). If
/// processors are scarce, a point read of a millisecond must not wait for the time slice of a scan of
/// seconds.
const NICER: i32 = 10;

/// Threads of pipelines, which exist while they run. One may wait for the rows of another, so that they must not wait for
/// each other's threads: these are more than the queries that have been admitted can use.
const PIPELINES_MAX: usize = 1 << 15;

/// Worker threads for all queries of the process: one per core, started when the first query needs them.
pub fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let wanted = scheduling::nice_value() + NICER;
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(partitions())
            .thread_name("analytics")
            .on_thread_start(move || {
                // A thread of a pipeline is started by one of these or by a connection's thread, and has its value. If
                // the system refuses, the threads compete like all others.
                Turns::Nicer((wanted - scheduling::nice_value()).max(0)).ask();
            })
            .max_blocking_threads(PIPELINES_MAX)
            .enable_time()
            .build()
    });
    made.as_ref()
        .map_err(|e| Error::internal(format_args!("cannot start the analytics threads: {e}")))
}

/// The clock of all queries: timers that are made within it end in time, even if all worker threads are busy. Those of a
/// runtime are served by its workers, between tasks.
pub fn clock() -> Result<&'static Handle> {
    static CLOCK: OnceLock<std::io::Result<Handle>> = OnceLock::new();
    let made = CLOCK.get_or_init(|| {
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let handle = clock.handle().clone();
        std::thread::Builder::new()
            .name("query-clock".into())
            .spawn(move || clock.block_on(std::future::pending::<()>()))?;
        Ok(handle)
    });
    made.as_ref()
        .map_err(|e| Error::internal(format_args!("cannot start the clock of queries: {e}")))
}

/// DataFusion's context of one query, with a memory pool of its own.
pub fn context(
    limits: &Limits,
    batch_rows: usize,
    partitions: usize,
    memory: QueryMemory,
) -> datafusion_common::Result<Arc<TaskContext>> {
    let consumers_named_in_errors = NonZeroUsize::MIN;
    let pool = TrackConsumersPool::new(memory, consumers_named_in_errors);
    let spill = DiskManagerMode::Directories(vec![limits.spill_directory.clone()]);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(spill))
        .build_arc()?;
    Ok(Arc::new(TaskContext::new(
        None,
        String::new(),
        configuration(batch_rows, partitions)?,
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        environment,
    )))
}

fn configuration(batch_rows: usize, partitions: usize) -> datafusion_common::Result<SessionConfig> {
    let mut config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(batch_rows);
    let execution = &mut config.options_mut().execution;
    // Memory for merging is reserved by `QueryMemory`.
    execution.sort_spill_reservation_bytes = 0;
    // One batch a file. A repartitioning whose tasks spill at the same time has two files open, and its
    // reader may wait for one while the batch is in the other, forever (apache/datafusion#24883).
    execution.max_spill_file_size_bytes = ConfigNonZeroUsize::try_new(1)?;
    Ok(config)
}
