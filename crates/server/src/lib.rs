//! Everything between the network and `session`: listeners, the connection loop, authentication, TLS, and
//! the status port.
//!
//! Not here: the bytes of packets ([`wire`]), and what commands do. Commands go to the traits [`Sessions`]
//! and [`Session`], which `stemdb` implements with `session`, so that neither crate depends on the other.
//!
//! Where to go next, along a connection's way:
//!
//! 1. `listeners` accepts it, and `workers` runs it on a thread of its own.
//! 2. `connection` starts it. `login` finds the account ([`accounts`]) and checks the password
//!    (`credentials`), over TLS (`tls`, `transport`, `certificate`) if the client wants that.
//! 3. The connection loop is `Connection::serve`, in `connection`. It takes commands from `input` and
//!    passes them to [`Session::handle`], which is the way into `session`. Replies go through `output`. The
//!    reply to a commit may be sent later, by the committing thread: `pending_reply`.
//! 4. An idle connection gives up its thread: `parking`.
//!
//! `connections` knows all connections, `watcher` interrupts statements whose client has vanished.
//! [`Server::start`] starts all of it, [`ServerHandle::drain`] ends it.
//!
//! There is one blocking thread per active connection, with one read and one write system call per request.
//! That takes about half of the CPU time of an asynchronous runtime (measured; see `ARCHITECTURE.md`).

pub mod accounts;
mod certificate;
mod channel;
mod config;
mod connection;
mod connections;
mod credentials;
mod failed_logins;
mod input;
mod listeners;
mod login;
mod metrics;
pub mod open_files;
mod output;
mod parking;
mod pending_reply;
mod receive;
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

pub use accounts::{Account, CertificateRequirement, LoginTracking, TlsRequirement};
pub use config::{ServerConfig, Settings, TlsConfig};
pub use metrics::{Append, Figures, Measured};
pub use server::{Credentials, Server, ServerHandle, StartError};
pub use sessions::{Limits, Session, Sessions};
pub use tls::TlsError;
pub use wire::host::{Network, Origin};
