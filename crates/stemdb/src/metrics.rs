//! The metrics of sessions and of the store on `/metrics`, in Prometheus' text form.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use session::Shared;
use session::statistics::{Kind, LATENCY_BOUNDS_US};

/// Appends all metrics.
pub fn append(shared: &Shared, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = queries(shared, out);
    let _ = latencies(shared, out);
    let _ = store(shared, out);
    let _ = memory(shared, out);
}

fn queries(shared: &Shared, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "# HELP stemdb_statements_total Statements that have ended, by kind."
    )?;
    writeln!(out, "# TYPE stemdb_statements_total counter")?;
    for (kind, label) in Kind::ALL {
        let count = shared.statistics.of(kind).count();
        writeln!(out, "stemdb_statements_total{{kind=\"{label}\"}} {count}")?;
    }
    writeln!(
        out,
        "# HELP stemdb_statement_errors_total Statements that failed, by kind."
    )?;
    writeln!(out, "# TYPE stemdb_statement_errors_total counter")?;
    for (kind, label) in Kind::ALL {
        let errors = shared.statistics.of(kind).errors;
        writeln!(out, "stemdb_statement_errors_total{{kind=\"{label}\"}} {errors}")?;
    }
    let counters = &shared.engine.counters;
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    for (name, value) in [
        ("stemdb_analytical_queries_total", load(&counters.analytical)),
        ("stemdb_transactions_committed_total", load(&counters.committed)),
        (
            "stemdb_transactions_rolled_back_total",
            load(&counters.rolled_back),
        ),
        (
            "stemdb_plan_cache_hits_total",
            shared.statistics.plan_cache_hits(),
        ),
        (
            "stemdb_plan_cache_misses_total",
            load(&shared.statistics.plan_cache_misses),
        ),
    ] {
        writeln!(out, "# TYPE {name} counter\n{name} {value}")?;
    }
    Ok(())
}

fn latencies(shared: &Shared, out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "# HELP stemdb_statement_seconds Time from a statement's arrival to its answer, by kind."
    )?;
    writeln!(out, "# TYPE stemdb_statement_seconds histogram")?;
    for (kind, label) in Kind::ALL {
        let entry = shared.statistics.of(kind);
        let mut below = 0;
        for (bucket, count) in entry.buckets.iter().enumerate() {
            below += count;
            let bound = match LATENCY_BOUNDS_US.get(bucket) {
                Some(us) => (*us as f64 / 1e6).to_string(),
                None => "+Inf".to_owned(),
            };
            writeln!(
                out,
                "stemdb_statement_seconds_bucket{{kind=\"{label}\",le=\"{bound}\"}} {below}"
            )?;
        }
        let seconds = entry.total_us as f64 / 1e6;
        writeln!(out, "stemdb_statement_seconds_sum{{kind=\"{label}\"}} {seconds}")?;
        writeln!(out, "stemdb_statement_seconds_count{{kind=\"{label}\"}} {below}")?;
    }
    Ok(())
}

/// The engine's own figures: commits, groups, conflicts, cache, files.
fn store(shared: &Shared, out: &mut String) -> std::fmt::Result {
    for (name, value) in shared.engine.store.stats() {
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        writeln!(
            out,
            "# TYPE stemdb_store_{name} {kind}\nstemdb_store_{name} {value}"
        )?;
    }
    Ok(())
}

/// The limit of the process, the parts of fixed size, and how much of the rest statements and transactions
/// hold.
fn memory(shared: &Shared, out: &mut String) -> std::fmt::Result {
    let figures = shared.engine.memory.figures();
    writeln!(
        out,
        "# HELP stemdb_memory_part_bytes Parts of the limit that are reserved when the server starts."
    )?;
    writeln!(out, "# TYPE stemdb_memory_part_bytes gauge")?;
    for part in &figures.parts {
        writeln!(
            out,
            "stemdb_memory_part_bytes{{part=\"{}\"}} {}",
            part.name, part.bytes
        )?;
    }
    writeln!(
        out,
        "# HELP stemdb_memory_used_bytes Memory that statements and transactions hold."
    )?;
    writeln!(out, "# TYPE stemdb_memory_used_bytes gauge")?;
    for (share, bytes) in [
        ("small", figures.small),
        ("session", figures.session),
        ("large", figures.large),
        ("packets", figures.packets),
    ] {
        writeln!(out, "stemdb_memory_used_bytes{{share=\"{share}\"}} {bytes}")?;
    }
    for (name, kind, value) in [
        ("limit_bytes", "gauge", figures.limit as f64),
        ("resident_bytes", "gauge", figures.resident as f64),
        ("statements_bytes", "gauge", figures.statements as f64),
        ("waiting", "gauge", figures.waiting as f64),
        ("waits_total", "counter", figures.waits as f64),
        ("wait_seconds_total", "counter", figures.wait_us as f64 / 1e6),
        ("refused_total", "counter", figures.refused as f64),
        ("purges_total", "counter", figures.purges as f64),
    ] {
        writeln!(
            out,
            "# TYPE stemdb_memory_{name} {kind}\nstemdb_memory_{name} {value}"
        )?;
    }
    Ok(())
}
