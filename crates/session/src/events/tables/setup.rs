//! The tables `setup_*`, which tell what is measured, and the clocks.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, optional, text, texts};
use crate::events::by_name::names;
use crate::view::SessionView;

pub const CONSUMERS: MeasuredTable = MeasuredTable {
    name: "performance_schema.setup_consumers",
    rows: setup_consumers,
    emptied: Emptied::Never,
};

pub const ACTORS: MeasuredTable = MeasuredTable {
    name: "performance_schema.setup_actors",
    rows: |_| vec![texts(&["%", "%", "%", "YES", "YES"])],
    emptied: Emptied::Never,
};

pub const INSTRUMENTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.setup_instruments",
    rows: setup_instruments,
    emptied: Emptied::Never,
};

pub const OBJECTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.setup_objects",
    rows: |_| vec![texts(&["TABLE", "%", "%", "NO", "NO"])],
    emptied: Emptied::Never,
};

pub const TIMERS: MeasuredTable = MeasuredTable {
    name: "performance_schema.performance_timers",
    rows: |_| timers(),
    emptied: Emptied::Never,
};

fn setup_consumers(view: SessionView<'_>) -> Vec<Row> {
    const CONSUMERS: [(&str, bool); 16] = [
        ("events_stages_current", false),
        ("events_stages_history", false),
        ("events_stages_history_long", false),
        ("events_statements_cpu", false),
        ("events_statements_current", true),
        ("events_statements_history", true),
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

/// The instruments that measure anything: those of statements.
fn setup_instruments(view: SessionView<'_>) -> Vec<Row> {
    let is_on = if view.shared.events.is_on() { "YES" } else { "NO" };
    let row = |(name, documented): (&str, Option<&str>)| {
        let mut row = texts(&[name, is_on, is_on, ""]);
        row.extend([Value::Null, Value::Int(0), optional(documented)]);
        row
    };
    names().map(row).collect()
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
