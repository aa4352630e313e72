//! How RocksDB is configured, and why.

use crate::latest::allow_cuts;
use crate::layout::{LATEST, META, Version};
use crate::machine;
use crate::memtable::with_sorted_runs;
use kv::{EmbeddedOptions, Limits, Result};
use rocksdb::compaction_filter::Decision;
use rocksdb::{
    BlockBasedOptions, BlockBasedTablePinningTier, Cache, ColumnFamilyDescriptor, DB, DBCompressionType,
    DBRecoveryMode, DataBlockIndexType, LogLevel, Options,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The options of a store. The defaults depend on the machine.
#[derive(Debug, Clone)]
pub struct RocksOptions {
    /// Memory for blocks of data, indexes and filters. Filled as blocks are read, not at the start.
    pub block_cache_bytes: u64,
    /// Memory for the row cache. Filled as rows are read. 0: no row cache.
    pub row_cache_bytes: u64,
    /// Memory for superseded versions. Beyond it they are dropped sooner than [`EmbeddedOptions::gc_age`], or
    /// moved to disk if a snapshot needs them.
    pub history_bytes: u64,
    /// The size of a write buffer: newest versions in memory before they are written to a file.
    pub write_buffer_bytes: u64,
    /// Files kept open; `-1`: all.
    pub max_open_files: i32,
    /// Threads that flush and compact.
    pub background_jobs: i32,
    /// Disk space that is kept free: commits that would use it are refused, so that what is in memory can
    /// still be written. `None`: 256 MiB, or a twentieth of the file system if that is less.
    pub disk_reserve_bytes: Option<u64>,
    /// Whether one group is inserted into memory while the next one's log record is written.
    pub pipelined_write: bool,
    /// Old log files that are kept to be overwritten, so that a sync need not change the file's size. Not 0:
    /// RocksDB 11.8 then loops forever when it opens a log with a record whose type was damaged into that of
    /// a recycled log.
    pub recycled_log_files: usize,
    /// Whether each read that the row cache answers is compared with RocksDB; a difference panics. For tests:
    /// reads take many times as long.
    pub compare_cached_reads: bool,
    pub embedded: EmbeddedOptions,
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self::within(memory::machine_bytes())
    }
}

impl RocksOptions {
    /// For a process that may use this much memory.
    pub fn within(memory_bytes: u64) -> Self {
        Self {
            // Rows are read from the row cache several times as fast as from blocks, and what it does not hold the
            // kernel's page cache may, compressed.
            block_cache_bytes: memory_bytes / 8,
            row_cache_bytes: memory_bytes / 4,
            history_bytes: (memory_bytes / 64).clamp(8 << 20, 256 << 20),
            write_buffer_bytes: (memory_bytes / 64).clamp(8 << 20, 64 << 20),
            max_open_files: machine::open_files(),
            background_jobs: machine::cores().clamp(2, 16),
            disk_reserve_bytes: None,
            pipelined_write: false,
            recycled_log_files: 2,
            compare_cached_reads: false,
            embedded: EmbeddedOptions {
                limits: Limits {
                    // A commit takes three times that: a quarter of the memory.
                    transaction_bytes: (memory_bytes / 12).clamp(64 << 20, 1 << 30) as usize,
                    ..Limits::default()
                },
                ..EmbeddedOptions::default()
            },
        }
    }

    /// The most memory that each part takes, by name, in bytes.
    pub fn memory_parts(&self) -> [(&'static str, u64); 4] {
        [
            ("block_cache", self.block_cache_bytes),
            ("row_cache", self.row_cache_bytes),
            ("history", self.history_bytes),
            // And one that is being written to a file.
            (
                "write_buffers",
                self.write_buffer_bytes
                    .saturating_mul(u64::from(WRITE_BUFFERS) + 1),
            ),
        ]
    }

    /// Little memory and no background threads of the engine: for tests.
    pub fn small() -> Self {
        Self {
            block_cache_bytes: 8 << 20,
            row_cache_bytes: 1 << 20,
            history_bytes: 1 << 20,
            write_buffer_bytes: 4 << 20,
            max_open_files: 64,
            background_jobs: 2,
            disk_reserve_bytes: Some(0),
            compare_cached_reads: true,
            embedded: EmbeddedOptions {
                background: false,
                check_promises: true,
                ..EmbeddedOptions::default()
            },
            ..Self::default()
        }
    }

    pub(crate) fn database(&self) -> Options {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_max_open_files(self.max_open_files);
        options.set_max_background_jobs(self.background_jobs);
        options.set_max_subcompactions(u32::try_from(self.background_jobs / 2).unwrap_or(1).max(1));
        // Recovery ends before the first log record that is not complete: that one was being written when the
        // machine stopped. `crate::recovery` has checked before that nothing after it had been synced.
        // Stricter modes would refuse to open after a power cut that tore a record which no client had been
        // promised, and do not support recycled logs. RocksDB's own records of synced logs in the manifest
        // (`track_and_verify_wals_in_manifest`) do not include the current log. Those in the next log
        // (`track_and_verify_wals`) use the file's size, which preallocated zeros change, and end recovery in
        // this mode without an error.
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        options.set_recycle_log_file_num(self.recycled_log_files);
        // Both column families are flushed together. So no log is kept for a few bytes of `default`, and
        // damage to one does not find the other ahead of it.
        options.set_atomic_flush(!self.pipelined_write);
        options.set_max_total_wal_size(self.write_buffer_bytes.saturating_mul(4));
        options.set_enable_pipelined_write(self.pipelined_write);
        // There is one writer at a time, the thread that commits a group.
        options.set_allow_concurrent_memtable_write(false);
        options.set_bytes_per_sync(1 << 20);
        options.set_skip_stats_update_on_db_open(true);
        options.set_is_fd_close_on_exec(true);
        // If a reader is the last user of an obsolete file, a background thread removes the file, not the
        // reader.
        options.set_avoid_unnecessary_blocking_io(true);
        options.set_log_level(LogLevel::Info);
        options.set_keep_log_file_num(5);
        options.set_max_log_file_size(16 << 20);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        crate::full_disk::fails_writes(&mut options, self.disk_reserve_bytes == Some(0));
        options
    }

    /// Sets options that only an open database has.
    pub(crate) fn tune(&self, db: &DB, dir: &Path) {
        // What is not in the row cache is read by RocksDB's iterators. A row that is often updated leaves its
        // earlier states in the write buffer, and a scan has to pass over each. Flushing the buffer drops
        // them. So a buffer is flushed early once a scan has passed over many: in all, and on average for
        // each row it returned. RocksDB acts on it with the next write only.
        let triggers = [
            ("memtable_op_scan_flush_trigger", "256"),
            ("memtable_avg_op_scan_flush_trigger", "2"),
        ];
        let latest = db.cf_handle(LATEST);
        let set = latest.map(|latest| db.set_options_cf(latest, &triggers));
        if let Some(Err(error)) = set {
            tracing::warn!(dir = %dir.display(), %error, "scans over rows that change much will be slower");
        }
    }

    /// All column families, with a compaction filter that drops deletions which no reader at or above the
    /// safe point needs.
    pub(crate) fn column_families(&self, safe_point: &Arc<AtomicU64>) -> Result<[ColumnFamilyDescriptor; 2]> {
        // 0: RocksDB sizes the cache's table by what is cached.
        let cache =
            Cache::new_hyper_clock_cache(usize::try_from(self.block_cache_bytes).unwrap_or(usize::MAX), 0);
        let mut meta = level_compacted(1 << 20, 2);
        // The last commit's timestamp is written with each group, and not read until the next start.
        meta.set_inplace_update_support(true);
        meta.set_inplace_update_locks(1);
        meta.set_block_based_table_factory(&table(&cache));
        Ok([
            ColumnFamilyDescriptor::new(META, meta),
            ColumnFamilyDescriptor::new(LATEST, self.latest(&cache, safe_point)?),
        ])
    }

    /// For files that are written apart and become part of `latest`.
    pub(crate) fn sorted_files(&self) -> Result<Options> {
        self.latest(&Cache::new_hyper_clock_cache(1 << 20, 0), &Arc::default())
    }

    fn latest(&self, cache: &Cache, safe_point: &Arc<AtomicU64>) -> Result<Options> {
        let buffer_bytes = usize::try_from(self.write_buffer_bytes).unwrap_or(usize::MAX);

        let mut latest = with_sorted_runs(level_compacted(buffer_bytes, WRITE_BUFFERS.into()))?;
        allow_cuts(&mut latest);
        let mut table = table(cache);
        // Most reads are for one key, many for one that does not exist (unique checks). So there is a bloom
        // filter, and a hash index within each block.
        table.set_bloom_filter(10.0, false);
        table.set_whole_key_filtering(true);
        table.set_optimize_filters_for_memory(true);
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        table.set_data_block_hash_ratio(0.75);
        latest.set_block_based_table_factory(&table);
        // Most reads of rows that are not in the write buffer need not search it.
        latest.set_memtable_whole_key_filtering(true);
        latest.set_memtable_prefix_bloom_ratio(0.02);
        // For tables used as queues: a file of which most has been deleted is compacted before scans have to
        // pass over it. An index whose entries move has one half of them deleted.
        latest.add_compact_on_deletion_collector_factory(4_096, 3_072, 0.75);

        // Deletions are removed one by one once they have expired (`crate::latest::deletions`), except those
        // from before a restart.
        let safe_point = Arc::clone(safe_point);
        latest.set_compaction_filter("deletions", move |_level, _key, value| {
            match Version::parse(value) {
                Ok(Version { ts, value: None }) if ts <= safe_point.load(Ordering::Relaxed) => {
                    Decision::Remove
                }
                _ => Decision::Keep,
            }
        });
        Ok(latest)
    }
}

/// The most write buffers at a time. With more, writes would wait.
const WRITE_BUFFERS: u8 = 4;

/// Files of flushed write buffers that are compacted together, with all of the level below. More of them
/// rewrite that level less often, and make a search for one key check more filters.
const FILES_COMPACTED: u16 = 8;

fn level_compacted(buffer_bytes: usize, buffers: i32) -> Options {
    let buffer_bytes = buffer_bytes.max(1 << 20);
    let mut options = Options::default();
    options.set_write_buffer_size(buffer_bytes);
    options.set_max_write_buffer_number(buffers);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_level_zero_file_num_compaction_trigger(i32::from(FILES_COMPACTED));
    let together = u64::try_from(buffer_bytes)
        .unwrap_or(u64::MAX)
        .saturating_mul(u64::from(FILES_COMPACTED));
    options.set_max_bytes_for_level_base(together);
    options.set_target_file_size_base(u64::try_from(buffer_bytes).unwrap_or(u64::MAX));
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_min_level_to_compress(1);
    options
}

fn table(cache: &Cache) -> BlockBasedOptions {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(8 << 10);
    table.set_format_version(5);
    // Indexes and filters are part of the block cache, which bounds memory. They are pinned in it as long as
    // their file is open, so that reads need not look them up.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
    table
}
