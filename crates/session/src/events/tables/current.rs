//! `events_statements_current` and `events_statements_history`.

use std::sync::Arc;
use std::time::Instant;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, optional, text};
use crate::events::history::StatementRecord;
use crate::events::sums::{Sum, columns};
use crate::events::{DIGEST_BYTES_MAX, nanoseconds, picoseconds};
use crate::process::{Activity, Process};
use crate::view::SessionView;

pub const STATEMENTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_current",
    rows: current_statements,
    emptied: Emptied::By(forget_statements),
};

pub const HISTORY: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_history",
    rows: last_statements,
    emptied: Emptied::By(forget_statements),
};

/// A statement, as both tables show it.
struct Shown {
    thread: u64,
    number: u64,
    has_ended: bool,
    name: String,
    started: Instant,
    took_ns: u64,
    text: Option<Arc<str>>,
    digest: Option<String>,
    digest_text: Option<String>,
    database: Option<Arc<str>>,
    error: Option<Box<types::Error>>,
    sums: [u64; Sum::COUNT],
}

/// The statements that run at this moment, and the last ones of the sessions that run none.
fn current_statements(view: SessionView<'_>) -> Vec<Row> {
    let shown = activities(view).into_iter().filter_map(|(process, activity)| {
        running(view, &process, &activity).or_else(|| {
            let last = process.last_statements().pop()?;
            Some(ended(view, &process, last))
        })
    });
    shown.map(|shown| row(view, shown)).collect()
}

fn last_statements(view: SessionView<'_>) -> Vec<Row> {
    let of_process = |(process, _): (Arc<Process>, Activity)| {
        let records = process.last_statements().into_iter();
        let rows = records.map(|record| row(view, ended(view, &process, record)));
        rows.collect::<Vec<Row>>()
    };
    activities(view).into_iter().flat_map(of_process).collect()
}

fn forget_statements(view: SessionView<'_>) {
    let processes = view.shared.processes.all();
    processes.iter().for_each(|process| process.forget_statements());
}

fn running(view: SessionView<'_>, process: &Process, activity: &Activity) -> Option<Shown> {
    let statement = activity.statement.clone()?;
    let digest = syntax::statement_digest(&statement, &view.settings.sql_mode, DIGEST_BYTES_MAX);
    Some(Shown {
        thread: process.id,
        number: process.last_statements().last().map_or(1, |last| last.number + 1),
        has_ended: false,
        name: match activity.command {
            "Execute" => "statement/com/Execute",
            _ => "statement/com/Query",
        }
        .to_owned(),
        started: activity.since,
        took_ns: nanoseconds(activity.since.elapsed()),
        text: Some(statement[..statement.floor_char_boundary(1024)].into()),
        digest: Some(functions::digest_of(&digest.tokens)),
        digest_text: Some(digest.text),
        database: activity.database.clone(),
        error: None,
        // The counters of a statement are only known at its end.
        sums: [0; Sum::COUNT],
    })
}

fn ended(view: SessionView<'_>, process: &Process, record: StatementRecord) -> Shown {
    let digest = view.shared.events.digests.get(record.event.digest);
    let identity = digest.map(|digest| digest.identity());
    let mut sums = [0; Sum::COUNT];
    record
        .event
        .for_each_sum(record.took_ns, |sum, by| sums[sum as usize] += by);
    Shown {
        thread: process.id,
        number: record.number,
        has_ended: true,
        name: record.event.name.text(),
        started: record.started,
        took_ns: record.took_ns,
        text: record.text,
        digest: identity.as_ref().and_then(|identity| identity.digest.clone()),
        digest_text: identity.as_ref().and_then(|identity| identity.text.clone()),
        database: record.database,
        error: record.error,
        sums,
    }
}

/// Whether rows are the reply to the statements of an event. The others end with an OK packet, of the state 00000.
fn returns_rows(event: &str) -> bool {
    const NAMES: [&str; 8] = [
        "select", "show", "explain", "check", "checksum", "analyze", "optimize", "repair",
    ];
    let name = event.strip_prefix("statement/sql/");
    name.is_some_and(|name| NAMES.contains(&name.split('_').next().unwrap_or(name)))
}

fn row(view: SessionView<'_>, shown: Shown) -> Row {
    let since = shown.started.saturating_duration_since(view.shared.started);
    let start = picoseconds(nanoseconds(since));
    let took = picoseconds(shown.took_ns);
    let number = Value::UInt(shown.number);
    let is_acknowledged = shown.has_ended && !returns_rows(&shown.name);
    let mut row = vec![
        Value::UInt(shown.thread),
        number.clone(),
        if shown.has_ended { number } else { Value::Null },
        text(shown.name),
        Value::Null,
        Value::UInt(start),
        Value::UInt(start + took),
        Value::UInt(took),
        // Lock times are not measured separately.
        Value::UInt(0),
        optional(shown.text.as_deref()),
        optional(shown.digest),
        optional(shown.digest_text),
        optional(shown.database.as_deref()),
    ];
    row.extend([const { Value::Null }; 4]);
    let error = shown.error.as_deref();
    row.push(Value::Int(error.map_or(0, |error| i64::from(error.code))));
    let state = error.map(types::Error::sqlstate);
    row.push(optional(state.or(is_acknowledged.then_some("00000"))));
    row.push(optional(error.map(|error| {
        let message = error.message.as_str();
        &message[..message.floor_char_boundary(128)]
    })));
    // Those from ERRORS to NO_GOOD_INDEX_USED.
    let counted = columns(1, shown.took_ns, shown.took_ns, &shown.sums);
    row.extend(counted.into_iter().skip(6).take(18));
    row.extend([Value::Null, Value::Null, Value::Int(0), Value::Null]);
    row.extend([Value::UInt(0), Value::UInt(0), Value::UInt(0), text("PRIMARY")]);
    row
}
