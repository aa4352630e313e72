//! Connections to the server under load. They use either the load generator's own client ([`over_wire`]),
//! which takes little CPU time from the machine that client and server share, or a driver that applications
//! use (`driver`).

mod driver;
mod login;
mod over_wire;
mod stream;
mod text;
mod value;

use crate::error::{Error, Result};
use crate::target::{Client, Target};
use driver::DriverConnection;
use over_wire::WireConnection;
pub use value::{Param, Row, Value};

/// The effect of a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows of the result.
    pub rows: u64,
    pub affected_rows: u64,
    pub last_insert_id: u64,
}

/// A statement of one connection, created by [`Connection::prepare`]. It must not be used with another
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(usize);

/// MySQL does not prepare BEGIN and some other statements; they are sent as text.
const ER_UNSUPPORTED_PS: u16 = 1295;

/// A connection that is logged in.
#[derive(Debug)]
pub struct Connection(Inner);

#[derive(Debug)]
enum Inner {
    Wire(Box<WireConnection>),
    Driver(Box<DriverConnection>),
}

/// Makes the same call on either kind of connection.
macro_rules! on_either {
    ($connection:expr, $inner:ident => $call:expr) => {
        match $connection {
            Inner::Wire($inner) => $call,
            Inner::Driver($inner) => $call,
        }
    };
}

impl Connection {
    /// Connects, logs in and selects the target's database.
    pub fn open(target: &Target) -> Result<Self> {
        Ok(Self(match target.client {
            Client::Wire => Inner::Wire(Box::new(login::open(target)?)),
            Client::Driver => Inner::Driver(Box::new(DriverConnection::open(target)?)),
        }))
    }

    /// A connection without a server, for tests that send nothing.
    #[cfg(test)]
    pub(crate) fn unconnected() -> Self {
        Self(Inner::Wire(Box::new(WireConnection::unconnected())))
    }

    /// The server's version: `8.0.33-StemDB-0.1.0`.
    pub fn server_version(&self) -> &str {
        on_either!(&self.0, inner => inner.server_version())
    }

    /// The connection's id on the server.
    pub fn id(&self) -> u32 {
        on_either!(&self.0, inner => inner.id())
    }

    /// Whether the server runs on this host.
    pub fn is_local(&self) -> bool {
        on_either!(&self.0, inner => inner.is_local())
    }

    /// Statements sent so far. Each execution of a prepared statement counts.
    pub fn statements(&self) -> u64 {
        on_either!(&self.0, inner => inner.statements())
    }

    /// Runs a statement. Rows are counted and discarded.
    pub fn query(&mut self, sql: &str) -> Result<Done> {
        self.query_bytes(sql.as_bytes())
    }

    /// [`Self::query`] for a statement given as bytes.
    pub fn query_bytes(&mut self, sql: &[u8]) -> Result<Done> {
        on_either!(&mut self.0, inner => inner.query_bytes(sql))
    }

    /// Runs a statement and returns its rows.
    pub fn fetch_query(&mut self, sql: &str) -> Result<Vec<Row>> {
        on_either!(&mut self.0, inner => inner.fetch_query(sql))
    }

    /// The first value of the first row, which must be an integer: `SELECT COUNT(*) ...`.
    pub fn fetch_int(&mut self, sql: &str) -> Result<i64> {
        match self.fetch_query(sql)?.first() {
            Some(row) => row.int(0),
            None => Err(Error::Unexpected(format!("no row: {sql}"))),
        }
    }

    /// Prepares a statement, on the server or, with the text protocol, in the client.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        on_either!(&mut self.0, inner => inner.prepare(sql))
    }

    /// Runs a prepared statement. Rows are counted and discarded.
    pub fn execute(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Done> {
        on_either!(&mut self.0, inner => inner.execute(statement, parameters))
    }

    /// Runs a prepared statement and returns its rows.
    pub fn fetch(&mut self, statement: Statement, parameters: &[Param<'_>]) -> Result<Vec<Row>> {
        on_either!(&mut self.0, inner => inner.fetch(statement, parameters))
    }
}

fn no_such_statement() -> Error {
    Error::Unexpected("a statement of another connection".to_owned())
}

fn wrong_count(wanted: usize, given: usize) -> Error {
    Error::Unexpected(format!("a statement with {wanted} parameters was given {given}"))
}
