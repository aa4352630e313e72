//! The traits behind which commands are handled. `stemdb` implements them with `session`, so that neither
//! crate depends on the other. The tests of this crate implement them with a small fake.

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use types::{Error, Result};
use wire::status;
use wire::{ClientInfo, Flow, HangUp, PacketSink};

use crate::accounts::Account;
use crate::config::Settings;

/// Opens sessions; shared by all connections.
pub trait Sessions: Send + Sync + 'static {
    /// The accounts with this user name and any host, and those of the anonymous user (`''`).
    fn accounts(&self, user: &str) -> Vec<Account>;

    /// Every account that is not locked and has no password, as `'user'@'host'`. If there is one, the
    /// server listens on loopback only.
    fn accounts_without_password(&self) -> Vec<String>;

    fn settings(&self) -> Settings;

    /// A number for a new connection. No other open connection has it, on this server or on others with the
    /// same database. Below 2^32.
    fn next_connection_id(&self) -> u64;

    /// Opens the session of a client that has logged in. The client gets the error: 1049 for an unknown
    /// database.
    ///
    /// `hang_up` ends the connection from any thread: for KILL.
    fn open(
        &self,
        connection_id: u64,
        client: ClientInfo,
        hang_up: Arc<dyn HangUp>,
    ) -> Result<Box<dyn Session>>;
}

/// One client's session. Dropping it rolls back its open transaction.
pub trait Session: Send {
    /// Handles one command, any but COM_CHANGE_USER. An error means that the client is gone.
    fn handle(&mut self, command: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow>;

    /// The commit that the last reply was pending for has failed, and the client got this error in the
    /// reply's place ([`PacketSink::defer_reply`]).
    fn pending_reply_failed(&mut self, _error: &Error) {}

    /// Changes the session's user, who has been authenticated. After an error the connection is closed.
    fn change_user(&mut self, client: ClientInfo) -> Result<()>;

    /// Whether a transaction is open: draining lets it finish.
    fn in_transaction(&self) -> bool;

    /// A function that interrupts the running statement from any thread, for clients that have vanished.
    fn interrupter(&self) -> Arc<dyn Fn() + Send + Sync>;

    /// The calling thread runs the session's commands from now on, until what this returns is dropped.
    fn on_thread(&self) -> Box<dyn Any> {
        Box::new(())
    }

    /// Status flags of the OK packet that ends the login.
    fn status(&self) -> u16 {
        status::AUTOCOMMIT
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// A session's variables that concern its connection; read after every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `wait_timeout` (`interactive_timeout` for interactive clients): how long a connection may be idle.
    pub wait_timeout: Duration,
    /// The longest pause while the rest of a command arrives.
    pub net_read_timeout: Duration,
    /// How long a client may take to receive some bytes of a reply.
    pub net_write_timeout: Duration,
    /// `max_allowed_packet`, in bytes.
    pub max_allowed_packet: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wait_timeout: Duration::from_secs(28_800),
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
            max_allowed_packet: 64 * 1024 * 1024,
        }
    }
}
