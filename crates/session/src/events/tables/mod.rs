//! The registry of the tables of `performance_schema` and `mysql` that show measurements. Each table defines
//! its rows, and how it is emptied.

mod by_account;
mod by_thread;
mod connect_attributes;
mod connections;
mod current;
mod digests;
mod histograms;
mod logs;
mod profiling;
mod setup;
mod table;
mod table_io;
mod threads;
mod tls_channel;
mod user_variables;
mod variables_info;

pub use profiling::rows as stages;

use types::Result;

use crate::view::SessionView;
use table::{Emptied, MeasuredTable, Row};

static TABLES: [MeasuredTable; 26] = [
    by_thread::STATUS,
    by_thread::VARIABLES,
    connect_attributes::OF_ACCOUNT,
    connect_attributes::OF_ALL,
    connections::ACCOUNTS,
    connections::HOSTS,
    connections::USERS,
    current::HISTORY,
    current::STATEMENTS,
    digests::SUMMARY,
    histograms::BY_DIGEST,
    histograms::GLOBAL,
    logs::GENERAL,
    logs::SLOW,
    profiling::PROFILING,
    setup::ACTORS,
    setup::CONSUMERS,
    setup::INSTRUMENTS,
    setup::OBJECTS,
    setup::TIMERS,
    table_io::BY_INDEX,
    table_io::BY_TABLE,
    threads::THREADS,
    tls_channel::STATUS,
    user_variables::USER_VARIABLES,
    variables_info::VARIABLES_INFO,
];

fn find(database: &str, table: &str) -> Option<&'static MeasuredTable> {
    let is_it = |measured: &&MeasuredTable| measured.name.split_once('.') == Some((database, table));
    let by_account = by_account::STATUS.iter().chain(&by_account::STATEMENTS);
    TABLES.iter().chain(by_account).find(is_it)
}

/// The rows of a table. A table without measurements has none.
pub fn rows(view: SessionView<'_>, database: &str, table: &str) -> Vec<Row> {
    find(database, table).map_or_else(Vec::new, |found| (found.rows)(view))
}

/// TRUNCATE TABLE of measurements. `false`: it is a table of another kind.
///
/// # Errors
/// 1142 for a table of `performance_schema` that cannot be emptied.
pub fn truncate(view: SessionView<'_>, database: &str, table: &str) -> Result<bool> {
    let emptied = match find(database, table) {
        Some(found) => &found.emptied,
        None if database == "performance_schema" => of_empty_table(table),
        None => return Ok(false),
    };
    match emptied {
        Emptied::By(empty) => empty(view),
        Emptied::ByItself => {}
        Emptied::Never => {
            return Err(view.client.table_denied("DROP", table));
        }
    }
    Ok(true)
}

/// Whether an empty table could be truncated in MySQL.
fn of_empty_table(table: &str) -> &'static Emptied {
    // StemDB does not look up host names, so there is nothing to forget.
    let is_of_sums =
        table.starts_with("events_") || table.starts_with("status_by_") || table.contains("summary");
    match is_of_sums || matches!(table, "host_cache" | "prepared_statements_instances") {
        true => &Emptied::ByItself,
        false => &Emptied::Never,
    }
}
