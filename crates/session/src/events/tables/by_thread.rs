//! `status_by_thread` and `variables_by_thread`.

use std::sync::Arc;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, text};
use crate::process::{Activity, Process};
use crate::variables::Scope;
use crate::variables::definitions::all;
use crate::view::SessionView;

pub const STATUS: MeasuredTable = MeasuredTable {
    name: "performance_schema.status_by_thread",
    rows: status,
    emptied: Emptied::ByItself,
};

pub const VARIABLES: MeasuredTable = MeasuredTable {
    name: "performance_schema.variables_by_thread",
    rows: variables,
    emptied: Emptied::Never,
};

/// The counters of each session; those of kinds of statements are in none of MySQL's tables.
fn status(view: SessionView<'_>) -> Vec<Row> {
    let of_session = |(process, _): (Arc<Process>, Activity)| {
        let counters = process.counters.named();
        let mut rows: Vec<(String, u64)> = counters.filter(|(name, _)| !name.starts_with("Com_")).collect();
        rows.sort();
        let id = process.id;
        rows.into_iter()
            .map(move |(name, value)| vec![Value::UInt(id), text(name), text(value.to_string())])
    };
    activities(view).into_iter().flat_map(of_session).collect()
}

/// The variables of the session. Those of other sessions are not visible.
fn variables(view: SessionView<'_>) -> Vec<Row> {
    let of_session = all()
        .iter()
        .filter(|definition| definition.scope != Scope::Global);
    let row = |(name, value): (&str, Option<Arc<str>>)| {
        let value = value.as_deref().unwrap_or("");
        vec![Value::UInt(view.process.id), text(name), text(value)]
    };
    of_session
        .map(|definition| row((definition.name, view.variable_text(definition))))
        .collect()
}
