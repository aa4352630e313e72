//! The machine's memory.

use std::fs;
use std::path::Path;

use crate::control_group;

/// Assumed if the machine's memory is unknown.
const UNKNOWN_BYTES: u64 = 2 << 30;

/// Memory this process may use, in bytes: the machine's, or the limit of its control group if that is lower.
pub fn machine_bytes() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        kib.checked_mul(1024)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = control_group::limit_bytes(Path::new("/sys/fs/cgroup"), &groups);
    match (total, group) {
        (Some(total), Some(group)) => total.min(group),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => UNKNOWN_BYTES,
    }
}
