//! What the machine has: memory, cores, file handles, space on a disk.

use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

/// What is assumed of a machine that does not tell.
const MEMORY_BYTES_UNKNOWN: u64 = 2 << 30;

/// Memory this process may use: the machine's, or the control group's limit if that is lower.
pub fn memory_bytes() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        kib.checked_mul(1024)
    });
    let group = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    match (total, group) {
        (Some(total), Some(group)) => total.min(group),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => MEMORY_BYTES_UNKNOWN,
    }
}

pub fn cores() -> i32 {
    available_parallelism().map_or(2, |cores| i32::try_from(cores.get()).unwrap_or(i32::MAX))
}

/// How many files RocksDB may keep open: half of what the process may, the rest being for connections. `-1`: all.
pub fn open_files() -> i32 {
    /// Beyond it a limit is none.
    const PLENTY: u64 = 200_000;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < PLENTY => i32::try_from((limit / 2).max(64)).unwrap_or(i32::MAX),
        _ => -1,
    }
}

/// Bytes free for us and bytes in total on the file system of `path`.
pub fn disk_space_bytes(path: &Path) -> std::io::Result<(u64, u64)> {
    let stat = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok((bytes(stat.f_bavail), bytes(stat.f_blocks)))
}
