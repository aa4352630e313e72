//! SHOW STATUS: the names and values of MySQL's status variables, and of our own.

use std::sync::atomic::Ordering;

use crate::counters::{NEVER, ROWS, SessionCounters, StatusCounter, rows_changed, rows_read};
use crate::process::Process;
use crate::shared::Shared;
use crate::variables::lookup;
use crate::view::SessionView;

/// Names and values.
type Rows = Vec<(String, String)>;

impl SessionView<'_> {
    /// SHOW STATUS, sorted by name. Without `global`, session counters are those of this session.
    pub(crate) fn status(&self, global: bool) -> Rows {
        let shared = self.shared;
        let sums = shared.processes.counters();
        let mut rows = of_server(shared, &sums);
        let shown = match global {
            true => &sums,
            false => &self.process.counters,
        };
        rows.extend(shown.named().map(|(name, value)| (name, value.to_string())));
        rows.extend(NEVER.iter().map(|name| ((*name).to_owned(), "0".to_owned())));
        let client = &self.client.info;
        let tls = client.tls.as_ref();
        let texts = [
            ("Ssl_cipher", tls.map(|t| t.cipher.clone()).unwrap_or_default()),
            // The server does not show what else it would have accepted.
            (
                "Ssl_cipher_list",
                tls.map(|t| t.cipher.clone()).unwrap_or_default(),
            ),
            ("Ssl_version", tls.map(|t| t.version.clone()).unwrap_or_default()),
        ];
        rows.extend(texts.map(|(name, value)| (name.to_owned(), value)));
        if !global {
            let is_on = if client.compression.is_some() { "ON" } else { "OFF" };
            rows.push(("Compression".to_owned(), is_on.to_owned()));
            let algorithm = client.compression.unwrap_or("").to_owned();
            rows.push(("Compression_algorithm".to_owned(), algorithm));
            let level = client.compression.map_or("0", level_of);
            rows.push(("Compression_level".to_owned(), level.to_owned()));
            // Costs of plans are not on MySQL's scale.
            rows.push(("Last_query_cost".to_owned(), "0.000000".to_owned()));
            rows.push(("Last_query_partial_plans".to_owned(), "0".to_owned()));
        }
        // The definitions of all tables are in memory.
        let opened = shown.of(StatusCounter::HandlerExternalLock) / 2;
        rows.push(("Table_open_cache_hits".to_owned(), opened.to_string()));
        rows.extend(self.of_files_for_tls());
        let layer = shared.connection_layer.get();
        let (not_before, not_after) = layer.map(|layer| layer.certificate_dates()).unwrap_or_default();
        rows.push(("Ssl_server_not_after".to_owned(), not_after));
        rows.push(("Ssl_server_not_before".to_owned(), not_before));
        let most_since = self
            .settings
            .time_zone
            .from_unix_us(shared.processes.most_since_us());
        let mut text = Vec::new();
        most_since.write_datetime(0, &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        rows.push(("Max_used_connections_time".to_owned(), text));
        rows.extend(TEXTS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        rows.sort();
        rows
    }

    /// `Current_tls_...`: what new connections use, which are the values of the variables.
    fn of_files_for_tls(&self) -> impl Iterator<Item = (String, String)> {
        const NAMES: [(&str, &str); 9] = [
            ("ca", "ssl_ca"),
            ("capath", "ssl_capath"),
            ("cert", "ssl_cert"),
            ("cipher", "ssl_cipher"),
            ("ciphersuites", "tls_ciphersuites"),
            ("crl", "ssl_crl"),
            ("crlpath", "ssl_crlpath"),
            ("key", "ssl_key"),
            ("version", "tls_version"),
        ];
        let variables = &self.shared.variables;
        NAMES.into_iter().map(|(name, variable)| {
            let value = lookup(variable).and_then(|definition| variables.get(definition));
            let value = value.map(|value| value.to_string()).unwrap_or_default();
            (format!("Current_tls_{name}"), value)
        })
    }
}

/// The level of compression: what MySQL's clients use unless they are given another one.
fn level_of(algorithm: &str) -> &'static str {
    match algorithm {
        "zstd" => "3",
        _ => "6",
    }
}

/// MySQL's texts about what it is built with, and what does not change here.
const TEXTS: [(&str, &str); 11] = [
    (
        "Innodb_buffer_pool_dump_status",
        "Dumping of buffer pool not started",
    ),
    (
        "Innodb_buffer_pool_load_status",
        "Loading of buffer pool not started",
    ),
    ("Innodb_buffer_pool_resize_status", ""),
    ("Innodb_redo_log_enabled", "ON"),
    ("Innodb_redo_log_read_only", "OFF"),
    ("Innodb_redo_log_resize_status", "OK"),
    ("Resource_group_supported", "OFF"),
    // Those of rustls.
    ("Ssl_session_cache_mode", "SERVER"),
    ("Ssl_session_cache_size", "256"),
    ("Telemetry_traces_supported", "OFF"),
    ("Tls_library_version", "rustls"),
];

/// The server's own counters, the same for every session.
fn of_server(shared: &Shared, sums: &SessionCounters) -> Rows {
    let layer = shared.connection_layer.get();
    let connections = layer.map(|layer| layer.counters());
    let rows = ROWS.map(|(name, counter)| (name, sums.of(counter)));
    let locks = shared.engine.store.lock_stats();
    let schema = shared.engine.cluster.schema();
    let tables = schema.tables().count() as u64;
    let now = [
        ("Created_tmp_files", executor::spill_files()),
        ("Innodb_buffer_pool_read_requests", rows_read(sums)),
        ("Innodb_buffer_pool_write_requests", rows_changed(sums)),
        ("Innodb_rows_inserted", sums.inserted()),
        ("Innodb_rows_read", rows_read(sums)),
        ("Innodb_row_lock_current_waits", locks.waiting),
        ("Innodb_row_lock_time", locks.waited_ms),
        (
            "Innodb_row_lock_time_avg",
            locks.waited_ms.checked_div(locks.waits).unwrap_or(0),
        ),
        ("Innodb_row_lock_time_max", locks.longest_ms),
        ("Innodb_row_lock_waits", locks.waits),
        ("Max_used_connections", shared.processes.most() as u64),
        ("Open_table_definitions", tables),
        ("Open_tables", tables),
        (
            "Performance_schema_digest_lost",
            shared.events.digests.counted_together(),
        ),
        (
            "Prepared_stmt_count",
            shared.prepared_count.load(Ordering::Relaxed),
        ),
        ("Queries", sums.of(StatusCounter::Questions) + sums.prepares()),
        (
            "Stemdb_analytical_queries",
            shared.engine.counters.analytical.load(Ordering::Relaxed),
        ),
        (
            "Table_locks_immediate",
            sums.of(StatusCounter::HandlerExternalLock) / 2,
        ),
        ("Threads_connected", shared.processes.count() as u64),
        ("Threads_running", running(shared)),
        ("Uptime", shared.started.elapsed().as_secs()),
        ("Uptime_since_flush_status", shared.started.elapsed().as_secs()),
    ];
    let counters = now
        .into_iter()
        .chain(rows)
        .chain(shared.statistics.counters())
        .chain(connections.into_iter().flatten());
    let mut rows: Rows = counters
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect();
    let store = shared.engine.store.stats();
    let figure = |name: &str| {
        store
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(0, |(_, value)| *value as u64)
    };
    rows.extend(of_log(
        figure("commits_total"),
        figure("commit_groups_total"),
        figure("log_syncs_total"),
    ));
    let missed = figure("row_cache_misses_total");
    rows.push(("Innodb_buffer_pool_reads".to_owned(), missed.to_string()));
    rows.extend(of_disks());
    rows.extend(of_buffer_pool(
        figure("block_cache_capacity_bytes"),
        figure("block_cache_usage_bytes"),
        figure("memtable_bytes"),
    ));
    rows.extend(
        store
            .iter()
            .map(|(name, value)| (format!("Stemdb_{name}"), value.to_string())),
    );
    rows.extend(of_memory(shared));
    let public_key = layer.map(|layer| layer.public_key()).unwrap_or_default();
    let of_plugins = ["Caching_sha2_password_rsa_public_key", "Rsa_public_key"];
    rows.extend(of_plugins.map(|name| (name.to_owned(), public_key.clone())));
    rows
}

/// The size of a page in bytes, as in `@@innodb_page_size`.
const PAGE: u64 = 16384;

/// The status of InnoDB's buffer pool, which tools read. The values are those of the store's block cache;
/// dirty data is what is not in files yet. A store without a cache in this process has no pages.
fn of_buffer_pool(capacity: u64, used: u64, dirty: u64) -> impl Iterator<Item = (String, String)> {
    let data = used.min(capacity) / PAGE;
    let values = [
        ("bytes_data", data * PAGE),
        ("bytes_dirty", dirty),
        ("pages_data", data),
        ("pages_dirty", dirty / PAGE),
        ("pages_free", capacity / PAGE - data),
        ("pages_total", capacity / PAGE),
    ];
    // What is in the log and not in files yet.
    let unflushed = ("Innodb_redo_log_logical_size".to_owned(), dirty.to_string());
    let page_size = ("Innodb_page_size".to_owned(), PAGE.to_string());
    let named = |(name, value): (&str, u64)| (format!("Innodb_buffer_pool_{name}"), value.to_string());
    values.into_iter().map(named).chain([page_size, unflushed])
}

/// The status of InnoDB's log, which tools read: commits, the groups in which they are written, and syncs.
fn of_log(commits: u64, groups: u64, syncs: u64) -> impl Iterator<Item = (String, String)> {
    let values = [
        ("Innodb_data_fsyncs", syncs),
        ("Innodb_log_write_requests", commits),
        ("Innodb_log_writes", groups),
        ("Innodb_os_log_fsyncs", syncs),
    ];
    values
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_string()))
}

/// What this process has read from and written to files, and how much of it reached disks, as the operating system
/// counts it; the same in InnoDB's pages.
fn of_disks() -> impl Iterator<Item = (String, String)> {
    let counted = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let names = [
        ("syscr: ", "Innodb_data_reads"),
        ("syscw: ", "Innodb_data_writes"),
        ("read_bytes: ", "Innodb_data_read"),
        ("write_bytes: ", "Innodb_data_written"),
    ];
    let value = |counter: &str| -> u64 {
        let value = counted.lines().find_map(|line| line.strip_prefix(counter));
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    let pages = [
        ("read_bytes: ", "Innodb_pages_read"),
        ("write_bytes: ", "Innodb_pages_written"),
        ("write_bytes: ", "Innodb_buffer_pool_pages_flushed"),
    ]
    .map(|(counter, name)| (name, value(counter) / PAGE));
    let counts = names.map(|(counter, name)| (name, value(counter)));
    let all = counts.into_iter().chain(pages);
    all.map(|(name, value): (&str, u64)| (name.to_owned(), value.to_string()))
}

fn of_memory(shared: &Shared) -> impl Iterator<Item = (String, String)> + use<> {
    let figures = shared.engine.memory.figures();
    let values = [
        ("limit_bytes", figures.limit as u64),
        ("statements_bytes", figures.statements as u64),
        ("used_bytes", figures.used as u64),
        ("waiting", figures.waiting as u64),
        ("waits", figures.waits),
        ("refused", figures.refused),
    ];
    let named = |(name, value): (&str, u64)| (format!("Stemdb_memory_{name}"), value.to_string());
    values.into_iter().map(named)
}

fn running(shared: &Shared) -> u64 {
    let processes = shared.processes.all();
    let is_running = |process: &&std::sync::Arc<Process>| process.running_for().is_some();
    processes.iter().filter(is_running).count() as u64
}
