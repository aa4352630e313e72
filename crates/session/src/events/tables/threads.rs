//! `threads`.

use std::sync::Arc;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, host, optional, text};
use crate::process::{Activity, Process};
use crate::view::SessionView;

pub const THREADS: MeasuredTable = MeasuredTable {
    name: "performance_schema.threads",
    rows: threads,
    emptied: Emptied::Never,
};

fn threads(view: SessionView<'_>) -> Vec<Row> {
    let row = |(process, activity): (Arc<Process>, Activity)| {
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
