//! The configuration of a server, and the settings that may change while it runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use memory::Broker;
use wire::host::Network;

/// Fixed for the life of a server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// TCP addresses for MySQL clients.
    pub listen: Vec<SocketAddr>,
    /// Path of the UNIX socket.
    pub socket: Option<PathBuf>,
    /// Address of the status port (HTTP: `/status` and `/metrics`).
    pub status: Option<SocketAddr>,
    /// Where the self-signed certificate and the RSA key are stored. `None`: both are created again at each
    /// start.
    pub data_directory: Option<PathBuf>,
    pub tls: TlsConfig,
    /// PEM file of the authorities that sign clients' certificates. `None`: clients are not asked for one.
    pub client_ca: Option<PathBuf>,
    /// Networks of load balancers. Connections from them must begin with a PROXY protocol header of version
    /// 2; connections from elsewhere must not.
    pub proxy_protocol_networks: Vec<Network>,
    /// A connection that has been idle for so long gives up its thread.
    pub park_after: Duration,
    /// Stack of a connection's thread, in bytes. It is reserved, and used only by deeply nested statements.
    pub stack_bytes: usize,
    /// The budget that large packets are counted against.
    pub memory: &'static Broker,
}

impl ServerConfig {
    /// An address that other machines can reach. With such an address every account needs a password.
    pub fn exposed_address(&self) -> Option<SocketAddr> {
        self.listen
            .iter()
            .find(|address| !address.ip().is_loopback())
            .copied()
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            socket: None,
            status: None,
            data_directory: None,
            tls: TlsConfig::SelfMade,
            client_ca: None,
            proxy_protocol_networks: Vec::new(),
            park_after: Duration::from_secs(10),
            stack_bytes: 16 * 1024 * 1024,
            memory: Broker::unlimited(),
        }
    }
}

/// Where the server's certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsConfig {
    /// TLS is not offered.
    Off,
    /// A self-signed certificate, created at the first start.
    SelfMade,
    /// The user's PEM files: a chain of certificates, and the private key of the first one.
    Files { certificate: PathBuf, key: PathBuf },
}

/// Global variables that concern connections. They are read for each new connection, so that `SET GLOBAL`
/// affects the next one.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `@@version`, sent in the greeting.
    pub version: String,
    pub max_connections: usize,
    /// How long a client may take to log in.
    pub connect_timeout: Duration,
    pub require_secure_transport: bool,
    /// `default_authentication_plugin`.
    pub default_plugin: &'static str,
    /// The collation id sent in the greeting.
    pub collation: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: "8.0.33-StemDB".to_owned(),
            max_connections: 151,
            connect_timeout: Duration::from_secs(10),
            require_secure_transport: false,
            default_plugin: wire::auth::CACHING_SHA2_PASSWORD,
            collation: types::Collation::DEFAULT.id(),
        }
    }
}
