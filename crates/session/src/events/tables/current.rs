//! `events_statements_current`.

use std::sync::Arc;
use std::time::Instant;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, optional, text};
use crate::events::{DIGEST_BYTES_MAX, nanoseconds, picoseconds};
use crate::process::{Activity, Process};
use crate::view::SessionView;

pub const STATEMENTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.events_statements_current",
    rows: current_statements,
    emptied: Emptied::ByItself,
};

/// The statements that run at this moment.
fn current_statements(view: SessionView<'_>) -> Vec<Row> {
    let now = Instant::now();
    let row = |(process, activity): (Arc<Process>, Activity)| {
        let statement = activity.statement?;
        let digest = syntax::statement_digest(&statement, &view.settings.sql_mode, DIGEST_BYTES_MAX);
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
        // The counters of a statement are only known at its end.
        row.extend([const { Value::UInt(0) }; 18]);
        row.extend([Value::Null, Value::Null, Value::Int(0), Value::Null]);
        row.extend([Value::UInt(0), Value::UInt(0), Value::UInt(0), text("PRIMARY")]);
        Some(row)
    };
    activities(view).into_iter().filter_map(row).collect()
}
