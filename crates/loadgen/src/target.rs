//! The server's address and account.

use std::fmt;
use std::sync::Arc;

use mysql::{Opts, OptsBuilder};

use crate::error::Result;

/// The implementation of connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// The load generator's own client, which takes the least CPU time.
    #[default]
    Wire,
    /// The `mysql` crate, as applications use it: TLS (`?require_ssl=true`), compression, every login
    /// method.
    Driver,
}

impl fmt::Display for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Wire => "wire",
            Self::Driver => "driver",
        })
    }
}

/// A server, an account and a database, read from a DSN: `mysql://user:password@host:port/database`, with
/// `?socket=/path` for a Unix socket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Target {
    opts: Arc<Opts>,
    /// Whether prepared statements are sent as text, with their parameters written into them.
    pub text_protocol: bool,
    pub client: Client,
}

impl Target {
    /// `database` is used if the DSN names none.
    pub fn parse(dsn: &str, database: &str) -> Result<Self> {
        let opts = Opts::from_url(dsn)?;
        let database = opts.get_db_name().unwrap_or(database).to_owned();
        let opts = OptsBuilder::from_opts(opts)
            .db_name(Some(database))
            .prefer_socket(false)
            .into();
        Ok(Self {
            opts: Arc::new(opts),
            text_protocol: false,
            client: Client::default(),
        })
    }

    /// The same server with another database; `None` for a connection without one.
    pub fn with_database(&self, database: Option<&str>) -> Self {
        let opts = OptsBuilder::from_opts(Opts::clone(&self.opts))
            .db_name(database)
            .into();
        Self {
            opts: Arc::new(opts),
            text_protocol: self.text_protocol,
            client: self.client,
        }
    }

    pub fn host(&self) -> String {
        self.opts.get_ip_or_hostname().into_owned()
    }

    pub fn port(&self) -> u16 {
        self.opts.get_tcp_port()
    }

    pub fn socket(&self) -> Option<&str> {
        self.opts.get_socket()
    }

    pub fn user(&self) -> &str {
        self.opts.get_user().unwrap_or_default()
    }

    pub fn password(&self) -> &str {
        self.opts.get_pass().unwrap_or_default()
    }

    pub fn database(&self) -> &str {
        self.opts.get_db_name().unwrap_or_default()
    }

    /// The server's address, for messages.
    pub fn address(&self) -> String {
        match self.socket() {
            Some(path) => path.to_owned(),
            None => format!("{}:{}", self.host(), self.port()),
        }
    }

    /// The DSN without the password, for result files and messages.
    pub fn shown(&self) -> String {
        format!("mysql://{}@{}/{}", self.user(), self.address(), self.database())
    }

    /// Options for the `mysql` crate.
    pub(crate) fn opts(&self) -> Opts {
        Opts::clone(&self.opts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dsn_is_taken_apart_and_shown_without_its_password() {
        let target = Target::parse("mysql://me:secret@db.example:3307/shop", "bench").unwrap();
        assert_eq!((target.host().as_str(), target.port()), ("db.example", 3307));
        assert_eq!(
            (target.user(), target.password(), target.database()),
            ("me", "secret", "shop")
        );
        assert_eq!(target.shown(), "mysql://me@db.example:3307/shop");
        assert_eq!(target.with_database(None).database(), "");
        assert_eq!(
            Target::parse("mysql://root@h", "bench").unwrap().database(),
            "bench"
        );
        let local = Target::parse("mysql://root@localhost?socket=/run/s.sock", "b").unwrap();
        assert_eq!(local.address(), "/run/s.sock");
    }

    #[test]
    fn what_is_no_dsn() {
        for dsn in [
            "",
            "127.0.0.1:4000",
            "postgres://root@h",
            "mysql://root@h:notaport",
        ] {
            assert!(Target::parse(dsn, "b").is_err(), "{dsn}");
        }
    }
}
