//! The attributes that clients send when they connect.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, text};
use crate::view::SessionView;

pub const OF_ALL: MeasuredTable = MeasuredTable {
    name: "performance_schema.session_connect_attrs",
    rows: |view| attributes(view, false),
    emptied: Emptied::Never,
};

pub const OF_ACCOUNT: MeasuredTable = MeasuredTable {
    name: "performance_schema.session_account_connect_attrs",
    rows: |view| attributes(view, true),
    emptied: Emptied::Never,
};

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
