//! The general query log, in MySQL's format (manual 5.4.3): every command, when it arrives.

use std::sync::atomic::Ordering;

use types::{SqlType, Value};

use super::log_time;
use crate::session::Session;

/// Logs a command, if the log is on.
#[inline]
pub fn log_command(session: &Session, command: &str, argument: &str) {
    if session.shared.events.general_log.is_on() {
        write_command(session, command, argument);
    }
}

#[cold]
fn write_command(session: &Session, command: &str, argument: &str) {
    if session.settings.sql_log_off {
        return;
    }
    let argument = &*syntax::without_secrets(argument);
    let log = &session.shared.events.general_log;
    let now_us = session.view().clock_us();
    if log.to_file.load(Ordering::Relaxed) {
        let at = log_time::utc(now_us);
        log.file
            .write(format!("{at}\t{:5} {command}\t{argument}\n", session.process.id));
    }
    if log.to_table.load(Ordering::Relaxed) {
        let user = &session.client.info.user;
        let host = format!(
            "{user}[{user}] @ {} [{}]",
            session.process.host_name(),
            session.process.host_address()
        );
        log.rows.push(vec![
            Value::UInt(session.settings.time_zone.from_unix_us(now_us).pack()),
            Value::String(host),
            Value::UInt(session.process.id),
            Value::UInt(session.shared.variables.integer("server_id")),
            Value::String(command.to_owned()),
            Value::Bytes(argument.as_bytes().to_vec()),
        ]);
    }
}

/// Logs an execution of a prepared statement, with the values of its parameters.
pub fn log_execution(session: &Session, text: &str, values: &[Value], types: &[SqlType]) {
    if session.shared.events.general_log.is_on() {
        write_command(session, "Execute", &with_values(text, values, types));
    }
}

/// Logs the beginning of the session.
pub fn log_connect(session: &Session) {
    if session.shared.events.general_log.is_on() {
        let info = &session.client.info;
        let database = info.database.as_deref().unwrap_or_default();
        let transport = match (&info.tls, session.process.activity().host.contains(':')) {
            (Some(_), _) => "SSL/TLS",
            (None, true) => "TCP/IP",
            (None, false) => "Socket",
        };
        let text = format!(
            "{}@{} on {database} using {transport}",
            info.user,
            session.process.host_name()
        );
        write_command(session, "Connect", &text);
    }
}

/// A text with values in place of its `?`.
fn with_values(text: &str, values: &[Value], types: &[SqlType]) -> String {
    let places = syntax::parameter_places(text);
    let mut written = String::with_capacity(text.len() + 16 * values.len());
    let mut at = 0;
    for (place, (value, ty)) in places.into_iter().zip(values.iter().zip(types)) {
        written.push_str(&text[at..place]);
        written.push_str(&literal(value, ty));
        at = place + 1;
    }
    written.push_str(&text[at..]);
    written
}

fn literal(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("x'{digits}'")
        }
        value if ty.is_numeric() => value.display_text(ty),
        value => {
            let text = value.display_text(ty);
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_place_of_parameters() {
        let values = [Value::Int(1), Value::String("it's".into()), Value::Null];
        let types = [
            SqlType::BIGINT,
            SqlType::varchar(4, types::Collation::DEFAULT),
            SqlType::NULL,
        ];
        assert_eq!(
            with_values("SELECT ?, '?', ? /* ? */ FROM `?` WHERE a = ?", &values, &types),
            "SELECT 1, '?', 'it\\'s' /* ? */ FROM `?` WHERE a = NULL"
        );
    }
}
