//! How much memory the measurements take: SHOW ENGINE PERFORMANCE_SCHEMA STATUS. The names are MySQL's, for what there is
//! here.

use super::digests::Digests;
use crate::process::Process;
use crate::shared::Shared;

/// A buffer: the size of an element, and how many there are.
struct Buffer {
    name: &'static str,
    size: usize,
    count: usize,
}

/// Names and values, as in SHOW ENGINE PERFORMANCE_SCHEMA STATUS.
pub fn figures(shared: &Shared) -> Vec<(String, usize)> {
    let buffers = buffers(shared);
    let mut rows: Vec<(String, usize)> = buffers
        .iter()
        .flat_map(|buffer| {
            let memory = buffer.size * buffer.count;
            [("size", buffer.size), ("count", buffer.count), ("memory", memory)]
                .map(|(figure, value)| (format!("{}.{figure}", buffer.name), value))
        })
        .collect();
    rows.push(("(digest_hash).count".to_owned(), shared.events.digests.used()));
    let memory = buffers.iter().map(|buffer| buffer.size * buffer.count).sum();
    rows.push(("performance_schema.memory".to_owned(), memory));
    rows
}

fn buffers(shared: &Shared) -> [Buffer; 7] {
    let (accounts, account_size) = shared.processes.accounts();
    let (by_thread, by_account, global, sums_size) = shared.processes.statement_sums();
    let (tables, table_size) = shared.events.table_io.places();
    let buffer = |name, size, count| Buffer { name, size, count };
    [
        buffer("threads", size_of::<Process>(), shared.processes.count()),
        buffer("(pfs_table_share)", table_size, tables),
        buffer("(pfs_account)", account_size, accounts),
        buffer(
            "events_statements_summary_by_thread_by_event_name",
            sums_size,
            by_thread,
        ),
        buffer(
            "events_statements_summary_global_by_event_name",
            sums_size,
            global,
        ),
        buffer(
            "events_statements_summary_by_account_by_event_name",
            sums_size,
            by_account,
        ),
        buffer(
            "events_statements_summary_by_digest",
            Digests::size(),
            shared.events.digests.used(),
        ),
    ]
}
