//! The definition of a table of measurements, and helpers for its values.

use std::sync::Arc;

use functions::TimeZone;
use types::Value;

use crate::process::{Activity, Process};
use crate::view::SessionView;

pub type Row = Vec<Value>;

/// A table that shows measurements.
pub struct MeasuredTable {
    /// `database.table`
    pub name: &'static str,
    pub rows: fn(SessionView<'_>) -> Vec<Row>,
    pub emptied: Emptied,
}

/// What TRUNCATE TABLE does.
pub enum Emptied {
    By(fn(SessionView<'_>)),
    /// Nothing, because it shows the present state.
    ByItself,
    /// It fails.
    Never,
}

pub fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

pub fn texts(values: &[&str]) -> Row {
    values.iter().map(|value| text(*value)).collect()
}

pub fn optional(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

pub fn moment(us: i64, zone: &TimeZone) -> Value {
    Value::UInt(zone.from_unix_us(us).pack())
}

/// The connections that the session may see, and their activity.
pub fn activities(view: SessionView<'_>) -> Vec<(Arc<Process>, Activity)> {
    let processes = view.shared.processes.all().into_iter();
    processes
        .map(|process| {
            let activity = process.activity();
            (process, activity)
        })
        .filter(|(_, activity)| view.client.may_see_connections_of(&activity.user))
        .collect()
}

/// The host without the port.
pub fn host(activity: &Activity) -> &str {
    let host = activity.host.as_str();
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}
