//! The memory of the process: its limit, the parts of fixed size, and the broker that distributes the rest.

use std::time::Duration;

use memory::{Broker, Part, Plan, Process};

use crate::configuration::Memory;

/// Memory of the program itself: its code (copied to large pages), schemas, plans and threads.
const PROGRAM_BYTES: usize = 96 << 20;

const WAIT_MAX: Duration = Duration::from_secs(120);

/// How many bytes the process may use.
pub fn limit_bytes(asked: &Memory) -> u64 {
    let machine = memory::machine_bytes();
    // The rest is for other programs and for the kernel, whose file cache counts against the same limit.
    asked.limit_bytes.unwrap_or(machine - machine / 8)
}

/// The default of `stemdb_memory_limit`, the memory of one statement. Several statements run at the same
/// time, beside the caches.
pub fn statement_bytes(limit_bytes: u64) -> u64 {
    (limit_bytes / 8).clamp(64 << 20, 1 << 30)
}

/// `parts`: the parts of fixed size that the store takes, by name. `connections`: the largest number of
/// connections.
///
/// # Errors
/// A message for the terminal: too little is left for statements.
pub fn start(
    asked: &Memory,
    limit_bytes: u64,
    parts: &[(&'static str, u64)],
    connections: u64,
) -> Result<&'static Broker, String> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let part = |&(name, bytes): &(&'static str, u64)| Part {
        name,
        bytes: size(bytes),
    };
    let program = Part {
        name: "program",
        bytes: PROGRAM_BYTES,
    };
    Broker::start(&Plan {
        limit: size(limit_bytes),
        parts: parts.iter().map(part).chain([program]).collect(),
        connections: size(connections),
        wait_max: asked.wait_seconds.map_or(WAIT_MAX, Duration::from_secs),
        process: Process {
            purge: crate::allocator::purge,
            ..Process::plain()
        },
    })
}
