//! Listeners, the connection loop, authentication, TLS, and the status port: everything between the network and
//! `session`. What the bytes mean is [`wire`]'s; what commands do is behind the trait [`Sessions`], so that neither
//! crate depends on the other.
//!
//! A connection's way: `listeners` accepts it and gives it a thread of `workers`; `connection` greets it and
//! `login` finds its account ([`accounts`]) and checks the password (`credentials`), through TLS (`tls`) where the
//! client wants it. Then commands go from `channel` to [`Session::handle`] and its packets back. A client that is
//! idle loses its thread to others: `parking`. `watcher` looks after those that are busy for long, `connections`
//! knows all of them. [`Server::start`] begins all this, and [`ServerHandle::drain`] ends it.
//!
//! One blocking thread per active connection, one read and one write system call per request: measured against an
//! asynchronous runtime this costs about half of the CPU (see `ARCHITECTURE.md`).

pub mod accounts;
mod channel;
mod config;
mod connection;
mod connections;
mod credentials;
mod input;
mod listeners;
mod login;
mod metrics;
mod output;
mod parking;
mod pending_reply;
mod server;
mod sessions;
mod shared;
mod socket;
mod status_port;
mod stop;
mod tls;
mod transport;
mod watcher;
mod workers;

pub use accounts::{Account, Network, Origin};
pub use config::{ServerConfig, Settings, TlsConfig};
pub use metrics::{Append, Figures, Measured};
pub use server::{Server, ServerHandle, StartError};
pub use sessions::{Limits, Session, Sessions};
pub use tls::TlsError;
