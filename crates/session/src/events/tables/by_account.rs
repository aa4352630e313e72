//! What the sessions of each account, user and host have done: the counters of SHOW STATUS, and statements by their
//! kind. Present sessions and those that have ended count. Times, errors and rows are not counted by kind.

use std::collections::BTreeMap;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, text};
use crate::counters::SessionCounters;
use crate::view::SessionView;

pub static STATUS: [MeasuredTable; 3] = [
    table("performance_schema.status_by_account", |view| {
        status(by(view, of_account))
    }),
    table("performance_schema.status_by_host", |view| {
        status(by(view, of_host))
    }),
    table("performance_schema.status_by_user", |view| {
        status(by(view, of_user))
    }),
];

pub static STATEMENTS: [MeasuredTable; 5] = [
    table(
        "performance_schema.events_statements_summary_by_account_by_event_name",
        |view| statements(by(view, of_account)),
    ),
    table(
        "performance_schema.events_statements_summary_by_host_by_event_name",
        |view| statements(by(view, of_host)),
    ),
    table(
        "performance_schema.events_statements_summary_by_thread_by_event_name",
        by_thread,
    ),
    table(
        "performance_schema.events_statements_summary_by_user_by_event_name",
        |view| statements(by(view, of_user)),
    ),
    table(
        "performance_schema.events_statements_summary_global_by_event_name",
        |view| kinds(&[], &view.shared.processes.counters()),
    ),
];

/// How many columns follow `COUNT_STAR`.
const NOT_MEASURED: usize = 27;

const fn table(name: &'static str, rows: fn(SessionView<'_>) -> Vec<Row>) -> MeasuredTable {
    MeasuredTable {
        name,
        rows,
        emptied: Emptied::ByItself,
    }
}

type Names = Vec<String>;

fn of_account(user: &str, host: &str) -> Names {
    vec![user.to_owned(), host.to_owned()]
}

fn of_host(_: &str, host: &str) -> Names {
    vec![host.to_owned()]
}

fn of_user(user: &str, _: &str) -> Names {
    vec![user.to_owned()]
}

/// The counters of the accounts that the session may see, summed up for each of the `names` of user and host.
fn by(view: SessionView<'_>, names: impl Fn(&str, &str) -> Names) -> BTreeMap<Names, SessionCounters> {
    let mut sums: BTreeMap<Names, SessionCounters> = BTreeMap::new();
    for ((user, host), counters) in view.shared.processes.counters_by_account() {
        if view.client.may_see_connections_of(&user) {
            sums.entry(names(&user, &host)).or_default().add_all(&counters);
        }
    }
    sums
}

/// A row for each counter but those of kinds of statements, which are in none of MySQL's tables of this kind.
fn status(sums: BTreeMap<Names, SessionCounters>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (names, counters) in sums {
        for (counter, value) in counters.named().filter(|(name, _)| !name.starts_with("Com_")) {
            let mut row: Row = names.iter().map(text).collect();
            row.extend([text(counter), text(value.to_string())]);
            rows.push(row);
        }
    }
    rows
}

fn statements(sums: BTreeMap<Names, SessionCounters>) -> Vec<Row> {
    let of_names = |(names, counters): (Names, SessionCounters)| {
        let names: Row = names.iter().map(text).collect();
        kinds(&names, &counters)
    };
    sums.into_iter().flat_map(of_names).collect()
}

fn by_thread(view: SessionView<'_>) -> Vec<Row> {
    activities(view)
        .iter()
        .flat_map(|(process, _)| kinds(&[Value::UInt(process.id)], &process.counters))
        .collect()
}

/// A row for each kind of statement.
fn kinds(names: &[Value], counters: &SessionCounters) -> Vec<Row> {
    let row = |(kind, count): (&str, u64)| {
        let mut row = names.to_vec();
        row.extend([text(format!("statement/sql/{kind}")), Value::UInt(count)]);
        row.resize(row.len() + NOT_MEASURED, Value::UInt(0));
        row
    };
    counters.commands().map(row).collect()
}
