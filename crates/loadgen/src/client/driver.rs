//! A connection through the `mysql` crate, a driver that applications use. It supports every login method,
//! TLS and compression.

use std::net::ToSocketAddrs;

use mysql::prelude::Queryable;
use mysql::{Conn, DriverError, Opts, OptsBuilder, Statement as Handle, Value as Theirs};

use super::text::Template;
use super::value::{Param, Row, Value};
use super::{Done, ER_UNSUPPORTED_PS, Statement, no_such_statement};
use crate::error::{Error, Result};
use crate::target::Target;

#[derive(Debug)]
enum Prepared {
    Binary(Handle),
    Text(Template),
}

/// A connection that is logged in. [`super::Connection`] describes its functions.
#[derive(Debug)]
pub struct DriverConnection {
    connection: Conn,
    server_version: String,
    is_local: bool,
    text_protocol: bool,
    prepared: Vec<Prepared>,
    statements: u64,
}

impl DriverConnection {
    pub fn open(target: &Target) -> Result<Self> {
        // FOUND_ROWS as in `login`. Statements are cached here, and closed with the connection.
        let opts: Opts = OptsBuilder::from_opts(target.opts())
            .stmt_cache_size(0)
            .additional_capabilities(mysql::consts::CapabilityFlags::CLIENT_FOUND_ROWS)
            .into();
        let mut connection = Conn::new(opts).map_err(|error| match error {
            mysql::Error::IoError(source) => not_reached(target, source),
            mysql::Error::DriverError(DriverError::CouldNotConnect(reason)) => {
                let reason = reason.map_or_else(String::new, |(_, message, _)| message);
                not_reached(target, std::io::Error::other(reason))
            }
            other => other.into(),
        })?;
        let server_version = connection.query_first("SELECT VERSION()")?.unwrap_or_default();
        Ok(Self {
            connection,
            server_version,
            is_local: target.socket().is_some() || is_loopback(target),
            text_protocol: target.text_protocol,
            prepared: Vec::new(),
            statements: 0,
        })
    }

    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    pub fn id(&self) -> u32 {
        self.connection.connection_id()
    }

    pub fn is_local(&self) -> bool {
        self.is_local
    }

    pub fn statements(&self) -> u64 {
        self.statements
    }

    pub fn query_bytes(&mut self, sql: &[u8]) -> Result<Done> {
        self.statements += 1;
        drain(self.connection.query_iter(text(sql)?)?, |_| {})
    }

    pub fn fetch_query(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.statements += 1;
        let mut rows = Vec::new();
        drain(self.connection.query_iter(sql)?, |row| rows.push(ours(row)))?;
        Ok(rows)
    }

    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let prepared = if self.text_protocol {
            Prepared::Text(Template::new(sql))
        } else {
            match self.connection.prep(sql).map_err(Error::from) {
                Err(error) if error.code() == ER_UNSUPPORTED_PS => Prepared::Text(Template::new(sql)),
                other => Prepared::Binary(other?),
            }
        };
        self.prepared.push(prepared);
        Ok(Statement(self.prepared.len() - 1))
    }

    pub fn execute(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Done> {
        self.run(statement, parameters, |_| {})
    }

    pub fn fetch(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.run(statement, parameters, |row| rows.push(ours(row)))?;
        Ok(rows)
    }

    fn run(
        &mut self,
        statement: Statement,
        values: &[Param<'_>],
        visit: impl FnMut(mysql::Row),
    ) -> Result<Done> {
        self.statements += 1;
        match self.prepared.get(statement.0) {
            None => Err(no_such_statement()),
            Some(Prepared::Binary(handle)) => {
                let values: Vec<Theirs> = values.iter().map(|&value| theirs(value)).collect();
                drain(self.connection.exec_iter(handle, values)?, visit)
            }
            Some(Prepared::Text(template)) => {
                let mut sql = Vec::new();
                template.write(values, &mut sql)?;
                drain(self.connection.query_iter(text(&sql)?)?, visit)
            }
        }
    }
}

fn drain<P: mysql::prelude::Protocol>(
    mut result: mysql::QueryResult<'_, '_, '_, P>,
    mut visit: impl FnMut(mysql::Row),
) -> Result<Done> {
    let mut done = Done {
        rows: 0,
        affected_rows: result.affected_rows(),
        last_insert_id: result.last_insert_id().unwrap_or(0),
    };
    for row in result.by_ref() {
        visit(row?);
        done.rows += 1;
    }
    Ok(done)
}

fn text(sql: &[u8]) -> Result<&str> {
    std::str::from_utf8(sql).map_err(|_| Error::Unexpected("a statement that is no UTF-8".to_owned()))
}

fn not_reached(target: &Target, source: std::io::Error) -> Error {
    Error::Connect {
        address: target.address(),
        source,
    }
}

fn is_loopback(target: &Target) -> bool {
    (target.host().as_str(), target.port())
        .to_socket_addrs()
        .is_ok_and(|mut addresses| addresses.any(|address| address.ip().is_loopback()))
}

fn theirs(value: Param<'_>) -> Theirs {
    match value {
        Param::Null => Theirs::NULL,
        Param::Int(value) => Theirs::Int(value),
        Param::Double(value) => Theirs::Double(value),
        Param::Text(text) => Theirs::Bytes(text.as_bytes().to_vec()),
    }
}

fn ours(row: mysql::Row) -> Row {
    Row(row.unwrap().into_iter().map(value).collect())
}

fn value(value: Theirs) -> Value {
    match value {
        Theirs::NULL => Value::Null,
        Theirs::Bytes(bytes) => Value::Bytes(bytes),
        Theirs::Int(value) => Value::Int(value),
        Theirs::UInt(value) => Value::UInt(value),
        Theirs::Float(value) => Value::Double(f64::from(value)),
        Theirs::Double(value) => Value::Double(value),
        Theirs::Date(year, month, day, hour, minute, second, micros) => {
            let mut text = format!("{year:04}-{month:02}-{day:02}");
            if (hour, minute, second, micros) != (0, 0, 0, 0) {
                text += &format!(" {hour:02}:{minute:02}:{second:02}");
            }
            Value::Bytes(with_fraction(text, micros))
        }
        Theirs::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if is_negative { "-" } else { "" };
            let hours = days.saturating_mul(24).saturating_add(u32::from(hours));
            Value::Bytes(with_fraction(
                format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
                micros,
            ))
        }
    }
}

fn with_fraction(mut text: String, micros: u32) -> Vec<u8> {
    if micros != 0 {
        text += &format!(".{micros:06}");
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_read_as_the_other_client_reads_them() {
        let text = |theirs| match value(theirs) {
            Value::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(text(Theirs::Date(2026, 1, 2, 0, 0, 0, 0)), "2026-01-02");
        assert_eq!(text(Theirs::Date(2026, 1, 2, 3, 4, 5, 0)), "2026-01-02 03:04:05");
        assert_eq!(
            text(Theirs::Date(2026, 1, 2, 0, 0, 0, 6)),
            "2026-01-02 00:00:00.000006"
        );
        assert_eq!(text(Theirs::Time(true, 1, 2, 3, 4, 5)), "-26:03:04.000005");
    }
}
