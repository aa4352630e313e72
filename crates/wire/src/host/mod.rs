//! Where a client comes from, and the hosts of accounts and networks that match it.

mod network;
mod pattern;

use std::net::{IpAddr, SocketAddr};

pub use network::{Network, NetworkError};
pub use pattern::{Specificity, host_specificity, host_specificity_for_host};

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The UNIX socket.
    Socket,
    Address(IpAddr),
}

impl Origin {
    /// Whether the client is on this machine.
    pub fn is_local(self) -> bool {
        match self {
            Self::Socket => true,
            Self::Address(ip) => ip.is_loopback(),
        }
    }

    /// The host part of `USER()` and of messages. Loopback addresses have the name `localhost`; other
    /// addresses are not looked up, as with MySQL's `skip_name_resolve`.
    pub fn host(self) -> String {
        match self {
            Self::Address(ip) if !ip.is_loopback() => ip.to_string(),
            _ => "localhost".to_owned(),
        }
    }
}

impl From<Option<SocketAddr>> for Origin {
    /// `peer`: `None` for the UNIX socket.
    fn from(peer: Option<SocketAddr>) -> Self {
        peer.map_or(Self::Socket, |peer| Self::Address(peer.ip()))
    }
}
