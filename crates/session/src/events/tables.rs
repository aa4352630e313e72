//! The rows of `performance_schema`, and of the logs that are tables.

use std::time::Instant;

use functions::TimeZone;
use types::{Error, Result, Value};

use super::digests::{Counter, DigestCounts, Identity};
use super::histogram::{BOUNDS_PS, BUCKETS, quantile};
use super::{nanoseconds, picoseconds};
use crate::process::{Activity, Process};
use crate::variables::definitions::{Effect, Kind, all};
use crate::view::SessionView;

type Row = Vec<Value>;

/// The rows of a table; none of one that shows nothing that is measured.
pub fn rows(view: SessionView<'_>, database: &str, table: &str) -> Vec<Row> {
    match (database, table) {
        ("performance_schema", "events_statements_summary_by_digest") => digests(view),
        ("performance_schema", "events_statements_histogram_by_digest") => histograms(view),
        ("performance_schema", "events_statements_histogram_global") => global_histogram(view),
        ("performance_schema", "events_statements_current") => current_statements(view),
        ("performance_schema", "threads") => threads(view),
        ("performance_schema", "setup_consumers") => setup_consumers(view),
        ("performance_schema", "setup_actors") => vec![texts(&["%", "%", "%", "YES", "YES"])],
        ("performance_schema", "setup_objects") => vec![texts(&["TABLE", "%", "%", "NO", "NO"])],
        ("performance_schema", "performance_timers") => timers(),
        ("performance_schema", "session_connect_attrs" | "session_account_connect_attrs") => {
            attributes(view, table == "session_account_connect_attrs")
        }
        ("performance_schema", "user_variables_by_thread") => user_variables(view),
        ("performance_schema", "variables_info") => variables_info(view),
        ("performance_schema", "accounts") => connections(view, |a| vec![text(&a.user), text(host(a))]),
        ("performance_schema", "users") => connections(view, |a| vec![text(&a.user)]),
        ("performance_schema", "hosts") => connections(view, |a| vec![text(host(a))]),
        ("mysql", "slow_log") => view.shared.events.slow_log.rows.all(),
        ("mysql", "general_log") => view.shared.events.general_log.rows.all(),
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of what is measured. `false`: it is a table of another kind.
///
/// # Errors
/// 1683 for a table of `performance_schema` that cannot be emptied.
pub fn truncate(view: SessionView<'_>, database: &str, table: &str) -> Result<bool> {
    const ER_WRONG_PERFSCHEMA_USAGE: u16 = 1683;
    let events = &view.shared.events;
    match (database, table) {
        ("performance_schema", "events_statements_summary_by_digest") => events.digests.reset(),
        (
            "performance_schema",
            "events_statements_histogram_by_digest" | "events_statements_histogram_global",
        ) => {
            events.digests.reset_histograms();
        }
        ("performance_schema", table) if table.starts_with("events_") || table.contains("summary") => {}
        // Names of hosts are not looked up, so that there is nothing to forget.
        ("performance_schema", "host_cache") => {}
        ("performance_schema", _) => {
            return Err(Error::new(
                ER_WRONG_PERFSCHEMA_USAGE,
                "Invalid performance_schema usage.",
            ));
        }
        ("mysql", "slow_log") => events.slow_log.rows.clear(),
        ("mysql", "general_log") => events.general_log.rows.clear(),
        _ => return Ok(false),
    }
    Ok(true)
}

fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

fn texts(values: &[&str]) -> Row {
    values.iter().map(|value| text(*value)).collect()
}

fn optional(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

fn moment(us: i64, zone: &TimeZone) -> Value {
    Value::UInt(zone.from_unix_us(us).pack())
}

fn digests(view: SessionView<'_>) -> Vec<Row> {
    let seen = view.shared.events.digests.seen();
    seen.map(|(digest, counts)| digest_row(view, &digest, &counts))
        .collect()
}

fn digest_row(view: SessionView<'_>, digest: &Identity, counts: &DigestCounts) -> Row {
    let zone = &view.settings.time_zone;
    let time = counts.of(Counter::TimeNs);
    let mut row = vec![
        optional(digest.schema.as_deref()),
        optional(digest.digest.as_deref()),
        optional(digest.text.as_deref()),
    ];
    let numbers = [
        counts.count,
        picoseconds(time),
        picoseconds(counts.least_ns),
        picoseconds(time / counts.count.max(1)),
        picoseconds(counts.most_ns),
        // Locks are not timed apart.
        0,
        counts.of(Counter::Errors),
        counts.of(Counter::Warnings),
        counts.of(Counter::RowsAffected),
        counts.of(Counter::RowsSent),
        counts.of(Counter::RowsExamined),
        // Temporary tables on disk.
        0,
        counts.of(Counter::TemporaryTables),
        counts.of(Counter::FullJoins),
        0,
        counts.of(Counter::Ranges),
        0,
        counts.of(Counter::Scans),
        0,
        0,
        counts.of(Counter::SortedRows),
        counts.of(Counter::Sorts),
        counts.of(Counter::NoIndex),
        0,
        // Processor time and memory are not measured for each statement.
        0,
        0,
        0,
        0,
    ];
    row.extend(numbers.map(Value::UInt));
    row.push(moment(counts.first_seen_us, zone));
    row.push(moment(counts.last_seen_us, zone));
    row.extend([0.95, 0.99, 0.999].map(|share| Value::UInt(quantile(&counts.buckets, share))));
    row.push(text(&digest.sample));
    row.push(moment(counts.first_seen_us, zone));
    row.push(Value::UInt(picoseconds(counts.least_ns)));
    row
}

fn histograms(view: SessionView<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (digest, counts) in view.shared.events.digests.seen() {
        let names = [
            optional(digest.schema.as_deref()),
            optional(digest.digest.as_deref()),
        ];
        rows.extend(buckets(&counts.buckets, &names));
    }
    rows
}

fn global_histogram(view: SessionView<'_>) -> Vec<Row> {
    let mut all = [0; BUCKETS];
    for (_, counts) in view.shared.events.digests.seen() {
        for (sum, count) in all.iter_mut().zip(counts.buckets.iter()) {
            *sum += count;
        }
    }
    buckets(&all, &[]).collect()
}

fn buckets<'a>(counts: &'a [u64; BUCKETS], names: &'a [Value]) -> impl Iterator<Item = Row> + 'a {
    let total: u64 = counts.iter().sum();
    let mut lower = 0;
    counts.iter().enumerate().map(move |(bucket, count)| {
        lower += count;
        let low = bucket.checked_sub(1).map_or(0, |before| BOUNDS_PS[before]);
        let share = if total == 0 {
            0.0
        } else {
            lower as f64 / total as f64
        };
        let mut row = names.to_vec();
        row.extend([bucket as u64, low, BOUNDS_PS[bucket], *count, lower].map(Value::UInt));
        row.push(Value::Double(share));
        row
    })
}

/// The connections that the session may see, with what they do.
fn activities(view: SessionView<'_>) -> Vec<(std::sync::Arc<Process>, Activity)> {
    let processes = view.shared.processes.all().into_iter();
    processes
        .map(|process| {
            let activity = process.activity();
            (process, activity)
        })
        .filter(|(_, activity)| view.client.may_see_connections_of(&activity.user))
        .collect()
}

/// Without the port.
fn host(activity: &Activity) -> &str {
    let host = activity.host.as_str();
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn threads(view: SessionView<'_>) -> Vec<Row> {
    let row = |(process, activity): (std::sync::Arc<Process>, Activity)| {
        let transport = match activity.host.contains(':') {
            true => "TCP/IP",
            false => "Socket",
        };
        let mut row = vec![
            Value::UInt(process.id),
            text("thread/sql/one_connection"),
            text("FOREGROUND"),
            Value::UInt(process.id),
            text(&activity.user),
            text(host(&activity)),
            optional(activity.database.as_deref()),
            text(activity.command),
            Value::Int(activity.since.elapsed().as_secs() as i64),
            text(process.state()),
            optional(activity.statement.as_deref()),
            Value::Null,
            Value::Null,
            text("YES"),
            text("NO"),
            text(transport),
            Value::Null,
            Value::Null,
            text("PRIMARY"),
        ];
        row.extend([Value::UInt(0), Value::UInt(0), Value::UInt(0), Value::UInt(0)]);
        row.push(text("NO"));
        row
    };
    activities(view).into_iter().map(row).collect()
}

/// The statements that run at this moment.
fn current_statements(view: SessionView<'_>) -> Vec<Row> {
    let now = Instant::now();
    let row = |(process, activity): (std::sync::Arc<Process>, Activity)| {
        let statement = activity.statement?;
        let digest = syntax::statement_digest(&statement, &view.settings.sql_mode, super::DIGEST_BYTES_MAX);
        let since_start =
            |at: Instant| picoseconds(nanoseconds(at.saturating_duration_since(view.shared.started)));
        let (start, end) = (since_start(activity.since), since_start(now));
        let mut row = vec![
            Value::UInt(process.id),
            Value::UInt(1),
            Value::Null,
            text(match activity.command {
                "Execute" => "statement/com/Execute",
                _ => "statement/com/Query",
            }),
            Value::Null,
            Value::UInt(start),
            Value::UInt(end),
            Value::UInt(end.saturating_sub(start)),
            Value::UInt(0),
            text(&statement[..statement.floor_char_boundary(1024)]),
            text(functions::digest_of(&digest.tokens)),
            text(digest.text),
            optional(activity.database.as_deref()),
        ];
        row.extend([
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Int(0),
            Value::Null,
            Value::Null,
        ]);
        // What it has done is counted when it has ended.
        row.extend([const { Value::UInt(0) }; 18]);
        row.extend([Value::Null, Value::Null, Value::Int(0), Value::Null]);
        row.extend([Value::UInt(0), Value::UInt(0), Value::UInt(0), text("PRIMARY")]);
        Some(row)
    };
    activities(view).into_iter().filter_map(row).collect()
}

fn setup_consumers(view: SessionView<'_>) -> Vec<Row> {
    const CONSUMERS: [(&str, bool); 16] = [
        ("events_stages_current", false),
        ("events_stages_history", false),
        ("events_stages_history_long", false),
        ("events_statements_cpu", false),
        ("events_statements_current", true),
        ("events_statements_history", false),
        ("events_statements_history_long", false),
        ("events_transactions_current", false),
        ("events_transactions_history", false),
        ("events_transactions_history_long", false),
        ("events_waits_current", false),
        ("events_waits_history", false),
        ("events_waits_history_long", false),
        ("global_instrumentation", true),
        ("thread_instrumentation", true),
        ("statements_digest", true),
    ];
    let is_on = view.shared.events.is_on();
    let row =
        |(name, is_measured): (&str, bool)| texts(&[name, if is_on && is_measured { "YES" } else { "NO" }]);
    CONSUMERS.map(row).into()
}

fn timers() -> Vec<Row> {
    let row =
        |(name, frequency): (&str, i64)| vec![text(name), Value::Int(frequency), Value::Int(1), Value::Null];
    [
        ("NANOSECOND", 1_000_000_000),
        ("MICROSECOND", 1_000_000),
        ("MILLISECOND", 1000),
    ]
    .map(row)
    .into()
}

fn attributes(view: SessionView<'_>, own_account: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (process, activity) in activities(view) {
        if own_account && activity.user != view.client.info.user {
            continue;
        }
        for (position, (name, value)) in process.attributes().iter().enumerate() {
            let is_empty = value.is_empty();
            rows.push(vec![
                Value::UInt(process.id),
                text(name),
                if is_empty { Value::Null } else { text(value) },
                Value::Int(position as i64),
            ]);
        }
    }
    rows
}

/// Those of the session: other sessions' variables are not visible.
fn user_variables(view: SessionView<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (name, value) in view.user_variables.shared().iter() {
        let shown = match value {
            Value::Null => Value::Null,
            Value::Bytes(bytes) => Value::Bytes(bytes.clone()),
            value => {
                let ty = functions::bind::type_of_value(value, types::Collation::DEFAULT);
                value.to_text(&ty).map_or(Value::Null, Value::Bytes)
            }
        };
        rows.push(vec![Value::UInt(view.process.id), text(name), shown]);
    }
    rows.sort_by(|a, b| a[1].as_str().cmp(&b[1].as_str()));
    rows
}

fn variables_info(view: SessionView<'_>) -> Vec<Row> {
    let row = |definition: &crate::variables::Definition| {
        let value = view.shared.variables.get(definition);
        let is_default = value.as_deref().is_none_or(|value| value == definition.default);
        let source = match (is_default, definition.effect) {
            (true, _) => "COMPILED",
            (false, Effect::Fixed) => "COMMAND_LINE",
            (false, _) => "DYNAMIC",
        };
        let (least, most) = match definition.kind {
            Kind::Int(least, most) => (least, most),
            _ => (0, 0),
        };
        vec![
            text(definition.name),
            text(source),
            text(""),
            text(least.to_string()),
            text(most.to_string()),
            Value::Null,
            Value::Null,
            Value::Null,
        ]
    };
    all().iter().map(row).collect()
}

/// Connections of now and since the start, by what `names` makes of them.
fn connections(view: SessionView<'_>, names: impl Fn(&Activity) -> Row) -> Vec<Row> {
    let mut rows: Vec<(Row, u64, u64)> = Vec::new();
    for (activity, current, total) in view.shared.processes.by_account() {
        if !view.client.may_see_connections_of(&activity.user) {
            continue;
        }
        let name = names(&activity);
        match rows.iter_mut().find(|(of, ..)| *of == name) {
            Some((_, now, all)) => {
                *now += current;
                *all += total;
            }
            None => rows.push((name, current, total)),
        }
    }
    let row = |(mut row, current, total): (Row, u64, u64)| {
        row.extend([current, total, 0, 0].map(Value::UInt));
        row
    };
    rows.into_iter().map(row).collect()
}
