//! How RocksDB is set up, and why so.

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

/// What may be configured; the defaults come from the machine.
#[derive(Debug, Clone)]
pub struct RocksOptions {
    /// Blocks of data, indexes and filters in memory. Filled as they are read, not at the start.
    pub block_cache_bytes: u64,
    /// Newest versions of rows that are read, in memory in a form that reads fast. Filled as they are read. 0: none.
    pub row_cache_bytes: u64,
    /// Superseded versions in memory. What is over it goes sooner than [`EmbeddedOptions::gc_age`], or to disk if a snapshot
    /// needs it.
    pub history_bytes: u64,
    /// Newest versions collected in memory before they are written to a file.
    pub write_buffer_bytes: u64,
    /// Files kept open; `-1`: all.
    pub max_open_files: i32,
    /// Threads that flush and compact.
    pub background_jobs: i32,
    /// Commits are refused with a clear error while less is free on the disk, so that what is in memory can still be
    /// written. `None`: 256 MiB, or a twentieth of the file system if that is less.
    pub disk_reserve_bytes: Option<u64>,
    /// Insert one group into memory while the next one's log is written.
    pub pipelined_write: bool,
    /// Old log files kept to be written over, which spares each sync a change of the file's size. Not 0: RocksDB 11.8
    /// then loops for ever on opening a log with a record whose type was damaged into one of recycled logs.
    pub recycled_log_files: usize,
    /// Compare each read that rows in memory answer with RocksDB, and panic where they differ. For tests: a read costs many times as much.
    pub compare_cached_reads: bool,
    pub embedded: EmbeddedOptions,
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self::within(memory::machine_bytes())
    }
}

impl RocksOptions {
    /// For a process that may have so many bytes of memory.
    pub fn within(memory_bytes: u64) -> Self {
        Self {
            block_cache_bytes: memory_bytes / 4,
            row_cache_bytes: memory_bytes / 8,
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
                    // While it commits it takes three times that: a quarter of the machine.
                    transaction_bytes: (memory_bytes / 12).clamp(64 << 20, 1 << 30) as usize,
                    ..Limits::default()
                },
                ..EmbeddedOptions::default()
            },
        }
    }

    /// What of it takes memory at most, by name, in bytes.
    pub fn memory_parts(&self) -> [(&'static str, u64); 4] {
        [
            ("block_cache", self.block_cache_bytes),
            ("row_cache", self.row_cache_bytes),
            ("history", self.history_bytes),
            // The one more is being written to a file.
            (
                "write_buffers",
                self.write_buffer_bytes
                    .saturating_mul(u64::from(WRITE_BUFFERS) + 1),
            ),
        ]
    }

    /// Little memory and no background threads of ours: for tests.
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
        // Recovery ends before the first log record that is not whole: it was being written when the machine stopped. That
        // nothing which had been synced is behind it has been looked at before (`crate::recovery`). The stricter modes
        // would refuse to open after a power cut that tore a record nobody was promised, and know no logs that are written
        // over old ones. RocksDB's own records of synced logs in the manifest (`track_and_verify_wals_in_manifest`) leave out
        // the one that is written to; those in the next log (`track_and_verify_wals`) go by the file's size, which zeros
        // ahead of the end change, and end recovery in this mode without an error.
        options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
        options.set_recycle_log_file_num(self.recycled_log_files);
        // Both column families go to tables together, so that no log is kept for a few bytes of `default`, and no damage to
        // one finds the other ahead of it.
        options.set_atomic_flush(!self.pipelined_write);
        options.set_max_total_wal_size(self.write_buffer_bytes.saturating_mul(4));
        options.set_enable_pipelined_write(self.pipelined_write);
        // There is one writer at a time, the leader of a commit group.
        options.set_allow_concurrent_memtable_write(false);
        options.set_bytes_per_sync(1 << 20);
        options.set_skip_stats_update_on_db_open(true);
        options.set_is_fd_close_on_exec(true);
        // Files that a reader was the last to use are removed by a background thread, not by the reader.
        options.set_avoid_unnecessary_blocking_io(true);
        options.set_log_level(LogLevel::Info);
        options.set_keep_log_file_num(5);
        options.set_max_log_file_size(16 << 20);
        options.set_stats_dump_period_sec(0);
        options.set_stats_persist_period_sec(0);
        crate::full_disk::fails_writes(&mut options);
        options
    }

    /// What can be set on an open database only.
    pub(crate) fn tune(&self, db: &DB, dir: &Path) {
        // What is not read from memory (`crate::latest::cache`) is read by RocksDB's iterators. A row that is updated again and
        // again leaves its earlier states in the write buffer, each a step for a scan to pass over; writing the buffer out
        // drops them. So it is written out early once a scan has met many: in all, and on average for each row it gave.
        // RocksDB acts on it with the next write only.
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

    /// All column families, with a filter that drops deletions which nobody at or above the safe point sees.
    pub(crate) fn column_families(&self, safe_point: &Arc<AtomicU64>) -> Result<[ColumnFamilyDescriptor; 2]> {
        // 0: let RocksDB size the table by what is cached.
        let cache =
            Cache::new_hyper_clock_cache(usize::try_from(self.block_cache_bytes).unwrap_or(usize::MAX), 0);
        let mut meta = level_compacted(1 << 20, 2);
        // The last commit's timestamp is written with each group, and nobody reads it until the next start.
        meta.set_inplace_update_support(true);
        meta.set_inplace_update_locks(1);
        meta.set_block_based_table_factory(&table(&cache));
        Ok([
            ColumnFamilyDescriptor::new(META, meta),
            ColumnFamilyDescriptor::new(LATEST, self.latest(&cache, safe_point)?),
        ])
    }

    fn latest(&self, cache: &Cache, safe_point: &Arc<AtomicU64>) -> Result<Options> {
        let buffer_bytes = usize::try_from(self.write_buffer_bytes).unwrap_or(usize::MAX);

        let mut latest = with_sorted_runs(level_compacted(buffer_bytes, WRITE_BUFFERS.into()))?;
        let mut table = table(cache);
        // Most reads are for one key, many for one that is not there (unique checks): a filter, and a hash index
        // inside each block.
        table.set_bloom_filter(10.0, false);
        table.set_whole_key_filtering(true);
        table.set_optimize_filters_for_memory(true);
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
        table.set_data_block_hash_ratio(0.75);
        latest.set_block_based_table_factory(&table);
        // Spares most reads of rows that are not in the write buffer the search through it.
        latest.set_memtable_whole_key_filtering(true);
        latest.set_memtable_prefix_bloom_ratio(0.02);
        // Queues: where most of a file has been deleted, compact it before a scan has to wade through. Half is what an index
        // has whose entries move, each gone from one place and new at another.
        latest.add_compact_on_deletion_collector_factory(4_096, 3_072, 0.75);

        // Deletions are removed one by one once they have expired (`crate::collect`), but for those of before a restart.
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

/// Write buffers that there may be at a time; then writes wait.
const WRITE_BUFFERS: u8 = 4;

/// Write buffers' files that are compacted together, and with the whole of the level below. The more of them the seldomer that
/// level is written again, and the more filters a search for one key passes.
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
    // Indexes and filters count against the cache, which bounds memory, and are pinned in it as long as their file
    // is open, which spares each read looking them up.
    table.set_cache_index_and_filter_blocks(true);
    table.set_cache_index_and_filter_blocks_with_high_priority(true);
    table.set_unpartitioned_pinning_tier(BlockBasedTablePinningTier::All);
    table
}
