//! Connections to the source and to the target.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder, Row, Statement, Value};

use crate::Result;
use crate::error::{Error, Side};

/// A longer statement is cut in messages.
const SHOWN_STATEMENT: usize = 200;

/// The settings of every session: values are read and written unchanged, whatever the server's defaults.
const SESSION: &[&str] = &[
    "SET NAMES utf8mb4",
    "SET time_zone = '+00:00'",
    // ALLOW_INVALID_DATES and no strict mode: what the source holds is taken, zero dates too.
    "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
    "SET wait_timeout = 86400",
    "SET net_write_timeout = 3600",
    "SET net_read_timeout = 3600",
];

/// The kind of a server, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    MySql,
    MariaDb,
    StemDb,
}

/// A server and an account.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    side: Side,
    opts: Opts,
}

impl Endpoint {
    pub(crate) fn source(dsn: &str) -> Result<Self> {
        Self::parse(Side::Source, dsn)
    }

    pub(crate) fn target(dsn: &str) -> Result<Self> {
        Self::parse(Side::Target, dsn)
    }

    fn parse(side: Side, dsn: &str) -> Result<Self> {
        let opts = Opts::from_url(dsn)
            .map_err(|error| Error::Arguments(format!("the address of the {side}, {dsn}: {error}")))?;
        Ok(Self { side, opts })
    }

    /// The databases that the DSN names, separated by commas.
    pub(crate) fn databases(&self) -> Vec<String> {
        let names = self.opts.get_db_name().unwrap_or_default();
        names
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// The server's address, for messages.
    pub(crate) fn address(&self) -> String {
        match self.opts.get_socket() {
            Some(path) => path.to_owned(),
            None => format!("{}:{}", self.opts.get_ip_or_hostname(), self.opts.get_tcp_port()),
        }
    }

    /// An error of the driver, outside of [`Client`].
    pub(crate) fn failed(&self, doing: &str, error: mysql::Error) -> Error {
        failed(self.side, doing, error)
    }

    /// A connection without a database.
    pub(crate) fn connect(&self) -> Result<Client> {
        let mut client = self.connect_raw(None)?;
        for statement in SESSION {
            client.run(statement)?;
        }
        Ok(client)
    }

    /// A connection whose session is as the server makes it.
    pub(crate) fn connect_raw(&self, read_timeout: Option<Duration>) -> Result<Client> {
        let opts = OptsBuilder::from_opts(self.opts.clone())
            .db_name(None::<String>)
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(10)))
            .read_timeout(read_timeout)
            .stmt_cache_size(64)
            // An UPDATE reports the rows that it found, changed or not.
            .additional_capabilities(mysql::consts::CapabilityFlags::CLIENT_FOUND_ROWS);
        let connection = Conn::new(opts).map_err(|error| Error::Connect {
            side: self.side,
            address: self.address(),
            error: Box::new(error),
        })?;
        Ok(Client {
            side: self.side,
            connection,
        })
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct Client {
    side: Side,
    connection: Conn,
}

impl Client {
    pub(crate) fn flavour(&mut self) -> Result<(Flavour, String)> {
        let version = self.one("SELECT VERSION()")?.unwrap_or_default();
        let flavour = if version.contains("MariaDB") {
            Flavour::MariaDb
        } else if version.contains("StemDB") {
            Flavour::StemDb
        } else {
            Flavour::MySql
        };
        Ok((flavour, version))
    }

    /// Runs a statement whose rows are not wanted.
    pub(crate) fn run(&mut self, sql: &str) -> Result<()> {
        let done = self.connection.query_drop(sql);
        done.map_err(|error| failed(self.side, sql, error))
    }

    /// The rows of a statement, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<TextRow>> {
        let rows: Vec<Row> = (self.connection.query(sql)).map_err(|error| failed(self.side, sql, error))?;
        Ok(rows.into_iter().map(TextRow::from).collect())
    }

    /// The first value of the first row.
    pub(crate) fn one(&mut self, sql: &str) -> Result<Option<String>> {
        Ok(self.rows(sql)?.first().and_then(|row| row.get(0)))
    }

    /// Reads rows in the binary protocol, which is exact for FLOAT and DOUBLE, one after the other.
    pub(crate) fn stream(
        &mut self,
        sql: &str,
        mut visit: impl FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        let side = self.side;
        let rows = self.connection.exec_iter(sql, ());
        for row in rows.map_err(|error| failed(side, sql, error))? {
            visit(row.map_err(|error| failed(side, sql, error))?.unwrap())?;
        }
        Ok(())
    }

    /// Runs a statement of a script, which may hold bytes that are not text.
    pub(crate) fn run_bytes(&mut self, sql: &[u8]) -> Result<()> {
        if let Ok(sql) = std::str::from_utf8(sql) {
            return self.run(sql);
        }
        // The driver sends text only. Texts with other bytes are sent as hexadecimal literals instead.
        let charset = self.one("SELECT @@character_set_client")?.unwrap_or_default();
        match crate::script::with_hexadecimal_texts(sql, &charset) {
            Some(sql) => self.run(&sql),
            None => Err(Error::Input(format!(
                "bytes that are not UTF-8 outside of a quoted text: {}",
                shortened(&String::from_utf8_lossy(sql))
            ))),
        }
    }

    /// The warnings of the last statement: level, number, message.
    pub(crate) fn warnings(&mut self) -> Result<Vec<TextRow>> {
        match self.connection.warnings() {
            0 => Ok(Vec::new()),
            _ => self.rows("SHOW WARNINGS"),
        }
    }

    /// Makes the session as a new one.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let done = self.connection.reset();
        done.map_err(|error| failed(self.side, "reset the connection", error))
    }

    /// The data to send if a statement of the session asks for a file (LOAD DATA LOCAL).
    pub(crate) fn set_local_files(&mut self, handler: mysql::LocalInfileHandler) {
        self.connection.set_local_infile_handler(Some(handler));
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let prepared = self.connection.prep(sql);
        prepared.map_err(|error| failed(self.side, sql, error))
    }

    /// Runs a prepared statement. Returns the rows that it affected or, an UPDATE, found.
    pub(crate) fn execute(&mut self, statement: &Statement, sql: &str, values: Vec<Value>) -> Result<u64> {
        let done = self.connection.exec_drop(statement, values);
        done.map_err(|error| failed(self.side, sql, error))?;
        Ok(self.connection.affected_rows())
    }

    pub(crate) fn affected_rows(&self) -> u64 {
        self.connection.affected_rows()
    }

    /// The driver's connection, for functions that only it has.
    pub(crate) fn into_inner(self) -> Conn {
        self.connection
    }
}

/// A row of a result, as text. Bytes that are not UTF-8 are replaced.
#[derive(Debug, Clone)]
pub(crate) struct TextRow(Vec<Option<String>>);

impl TextRow {
    pub(crate) fn get(&self, position: usize) -> Option<String> {
        self.0.get(position).cloned().flatten()
    }

    /// A value that is not NULL, or nothing.
    pub(crate) fn text(&self, position: usize) -> String {
        self.get(position).unwrap_or_default()
    }

    pub(crate) fn number(&self, position: usize) -> u64 {
        self.text(position).parse().unwrap_or(0)
    }
}

impl From<Row> for TextRow {
    fn from(row: Row) -> Self {
        let text = |value| match value {
            Value::NULL => None,
            Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Value::Int(value) => Some(value.to_string()),
            Value::UInt(value) => Some(value.to_string()),
            other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
        };
        Self(row.unwrap().into_iter().map(text).collect())
    }
}

fn failed(side: Side, sql: &str, error: mysql::Error) -> Error {
    Error::Server {
        side,
        statement: shortened(sql),
        error: Box::new(error),
    }
}

/// The beginning of a statement, for messages.
pub(crate) fn shortened(sql: &str) -> String {
    let mut statement: String = sql.chars().take(SHOWN_STATEMENT).collect();
    if statement.len() < sql.len() {
        statement += " ...";
    }
    statement
}

/// A name between backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text as a SQL literal.
pub(crate) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        match character {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x1a' => out.push_str("\\Z"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("''"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}
