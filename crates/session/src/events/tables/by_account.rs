//! What the sessions of each account, user and host have done: the counters of SHOW STATUS, and sums of statements by
//! the names of their events. Present sessions and those that have ended count.

use std::collections::BTreeMap;

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, activities, text};
use crate::counters::SessionCounters;
use crate::events::by_name::NameSums;
use crate::events::sums::columns;
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
    MeasuredTable {
        name: "performance_schema.events_statements_summary_by_account_by_event_name",
        rows: |view| statements(view, by(view, of_account)),
        emptied: OF_ACCOUNTS,
    },
    MeasuredTable {
        name: "performance_schema.events_statements_summary_by_host_by_event_name",
        rows: |view| statements(view, by(view, of_host)),
        emptied: OF_ACCOUNTS,
    },
    MeasuredTable {
        name: "performance_schema.events_statements_summary_by_thread_by_event_name",
        rows: by_thread,
        emptied: Emptied::By(|view| view.shared.processes.reset_statements_of_sessions()),
    },
    MeasuredTable {
        name: "performance_schema.events_statements_summary_by_user_by_event_name",
        rows: |view| statements(view, by(view, of_user)),
        emptied: OF_ACCOUNTS,
    },
    MeasuredTable {
        name: "performance_schema.events_statements_summary_global_by_event_name",
        rows: |view| by_name(view, &[], &view.shared.processes.counters()),
        emptied: Emptied::By(|view| view.shared.processes.reset_statements()),
    },
];

/// Users and hosts are sums of accounts.
const OF_ACCOUNTS: Emptied = Emptied::By(|view| view.shared.processes.reset_statements_of_accounts());

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

fn statements(view: SessionView<'_>, sums: BTreeMap<Names, SessionCounters>) -> Vec<Row> {
    let of_names = |(names, counters): (Names, SessionCounters)| {
        let names: Row = names.iter().map(text).collect();
        by_name(view, &names, &counters)
    };
    sums.into_iter().flat_map(of_names).collect()
}

fn by_thread(view: SessionView<'_>) -> Vec<Row> {
    activities(view)
        .iter()
        .flat_map(|(process, _)| by_name(view, &[Value::UInt(process.id)], &process.counters))
        .collect()
}

/// A row for each name of an event, unless nothing is measured.
fn by_name(view: SessionView<'_>, names: &[Value], counters: &SessionCounters) -> Vec<Row> {
    if !view.shared.events.is_on() {
        return Vec::new();
    }
    let row = |(name, sums): (&str, NameSums)| {
        let mut row = names.to_vec();
        row.push(text(name));
        row.extend(columns(sums.count, sums.least_ns, sums.most_ns, &sums.sums));
        row
    };
    counters.by_name.all().map(row).collect()
}
