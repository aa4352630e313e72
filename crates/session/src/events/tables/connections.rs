//! Present connections, and all since the start: `accounts`, `users`, `hosts`.

use types::Value;

use super::table::{Emptied, MeasuredTable, Row, host, text};
use crate::process::Activity;
use crate::view::SessionView;

pub const ACCOUNTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.accounts",
    rows: |view| connections(view, |a| vec![text(&a.user), text(host(a))]),
    emptied: Emptied::Never,
};

pub const USERS: MeasuredTable = MeasuredTable {
    name: "performance_schema.users",
    rows: |view| connections(view, |a| vec![text(&a.user)]),
    emptied: Emptied::Never,
};

pub const HOSTS: MeasuredTable = MeasuredTable {
    name: "performance_schema.hosts",
    rows: |view| connections(view, |a| vec![text(host(a))]),
    emptied: Emptied::Never,
};

/// Present connections and all since the start, grouped by the columns that `names` returns.
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
