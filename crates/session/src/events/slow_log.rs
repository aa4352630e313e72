//! The slow query log, in MySQL's format (manual 5.4.5).

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use syntax::ast::SqlCommand;
use types::Value;
use types::temporal::Time;

use super::log_time;
use crate::counters::StatusCounter;
use crate::session::Session;

/// Counts a statement that was slow, and logs it if the log is on.
#[cold]
pub fn log_if_slow(session: &Session, took: Duration, ended: Instant) {
    let events = &session.shared.events;
    let is_slow = took >= session.settings.long_query_time;
    if is_slow {
        session.process.counters.add(StatusCounter::SlowQueries, 1);
        session
            .shared
            .statistics
            .slow_queries
            .fetch_add(1, Ordering::Relaxed);
    }
    let without_index = session.event.traits.uses_no_index() && events.without_index.load(Ordering::Relaxed);
    let examined = session.event.reads.examined();
    if !events.slow_log.is_on()
        || !(is_slow || without_index)
        || examined < session.settings.min_examined_row_limit
    {
        return;
    }
    let Some(statement) = session.process.activity().statement else {
        return;
    };
    if !events.administration.load(Ordering::Relaxed) && administers(session.event.name.command()) {
        return;
    }
    let since_end = ended.elapsed();
    let now_us = session.view().clock_us() - i64::try_from(since_end.as_micros()).unwrap_or(0);
    if events.slow_log.to_file.load(Ordering::Relaxed) {
        events
            .slow_log
            .file
            .write(entry(session, &statement, took, now_us));
    }
    if events.slow_log.to_table.load(Ordering::Relaxed) {
        events.slow_log.rows.push(row(session, &statement, took, now_us));
    }
}

/// Whether a statement is one of those that are logged only with `log_slow_admin_statements`.
fn administers(command: Option<SqlCommand>) -> bool {
    matches!(
        command,
        Some(
            SqlCommand::AlterTable
                | SqlCommand::Analyze
                | SqlCommand::Check
                | SqlCommand::CreateIndex
                | SqlCommand::DropIndex
                | SqlCommand::Optimize
                | SqlCommand::Repair
        )
    )
}

fn entry(session: &Session, statement: &str, took: Duration, now_us: i64) -> String {
    let took_us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
    let mut entry = String::with_capacity(statement.len() + 300);
    let user = &session.client.info.user;
    let _ = write!(
        entry,
        "# Time: {}\n# User@Host: {user}[{user}] @ {} [{}]  Id: {:5}\n# Query_time: {:.6}  Lock_time: 0.000000 \
         Rows_sent: {}  Rows_examined: {}\n",
        log_time::utc(now_us),
        session.process.host_name(),
        session.process.host_address(),
        session.process.id,
        took.as_secs_f64(),
        session.event.rows_sent,
        session.event.reads.examined(),
    );
    if let Some(database) = &session.database {
        let _ = writeln!(entry, "use {database};");
    }
    let _ = writeln!(entry, "SET timestamp={};", (now_us - took_us) / 1_000_000);
    entry.push_str(statement.trim_end().trim_end_matches(';'));
    entry.push_str(";\n");
    entry
}

/// A row of `mysql.slow_log`.
fn row(session: &Session, statement: &str, took: Duration, now_us: i64) -> Vec<Value> {
    let at = session.settings.time_zone.from_unix_us(now_us).pack();
    let time = |took: Duration| {
        Value::Int(i64::try_from(took.as_micros()).map_or(Time::MAX.0, |us| us.min(Time::MAX.0)))
    };
    let user = &session.client.info.user;
    vec![
        Value::UInt(at),
        Value::String(format!(
            "{user}[{user}] @ {} [{}]",
            session.process.host_name(),
            session.process.host_address()
        )),
        time(took),
        time(Duration::ZERO),
        Value::UInt(session.event.rows_sent),
        Value::UInt(session.event.reads.examined()),
        Value::String(session.database.as_deref().unwrap_or_default().to_owned()),
        Value::Int(0),
        Value::Int(0),
        Value::UInt(u64::from(session.shared.variables.integer("server_id") as u32)),
        Value::Bytes(statement.as_bytes().to_vec()),
        Value::UInt(session.process.id),
    ]
}
