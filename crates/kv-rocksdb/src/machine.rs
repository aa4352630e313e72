//! The machine's resources other than memory: processors, file handles, disk space.

use rustix::process::{Resource, getrlimit};
use std::path::Path;
use std::thread::available_parallelism;

pub fn cores() -> i32 {
    available_parallelism().map_or(2, |cores| i32::try_from(cores.get()).unwrap_or(i32::MAX))
}

/// How many files RocksDB may keep open: half of the process' limit, the rest being for connections. `-1`:
/// all.
pub fn open_files() -> i32 {
    /// A higher limit counts as none.
    const PLENTY: u64 = 200_000;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < PLENTY => i32::try_from((limit / 2).max(64)).unwrap_or(i32::MAX),
        _ => -1,
    }
}

/// Free bytes (for this user) and total bytes of the file system of `path`.
pub fn disk_space_bytes(path: &Path) -> std::io::Result<(u64, u64)> {
    let stat = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok((bytes(stat.f_bavail), bytes(stat.f_blocks)))
}
