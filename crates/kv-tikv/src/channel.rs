//! Opens HTTP/2 connections, with or without TLS, with time-outs for every step.

use crate::options::TikvOptions;
use kv::{Error, Result};
use std::path::Path;
use std::time::Duration;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// A peer that does not answer a ping within [`PING_TIMEOUT`] is gone.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Flow-control windows, so that a large response is sent without waiting for window updates.
const STREAM_WINDOW_BYTES: u32 = 8 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;

/// The largest response that is accepted. A page of the largest values is far smaller.
pub const RESPONSE_BYTES_MAX: usize = 256 << 20;

/// How to connect to any member of one cluster.
#[derive(Clone)]
pub struct Connector {
    tls: Option<ClientTlsConfig>,
    connect_timeout: Duration,
}

impl Connector {
    pub fn new(options: &TikvOptions) -> Result<Self> {
        let tls = match &options.tls {
            None => None,
            Some(tls) => {
                let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&tls.ca)?));
                if let Some((certificate, key)) = &tls.identity {
                    config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
                }
                if let Some(name) = &tls.server_name {
                    config = config.domain_name(name.clone());
                }
                Some(config)
            }
        };
        Ok(Self {
            tls,
            connect_timeout: options.connect_timeout,
        })
    }

    /// `address` is `host:port`, or a URL as PD lists its members.
    pub fn endpoint(&self, address: &str) -> Result<Endpoint> {
        let host = address.split_once("://").map_or(address, |(_, host)| host);
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let wrong =
            |error: tonic::transport::Error| Error::Unavailable(format!("address '{address}': {error}"));
        let endpoint = Endpoint::from_shared(format!("{scheme}://{host}"))
            .map_err(wrong)?
            .connect_timeout(self.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(PING_INTERVAL))
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        match &self.tls {
            Some(tls) => endpoint.tls_config(tls.clone()).map_err(wrong),
            None => Ok(endpoint),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::Unavailable(format!("{}: {error}", path.display())))
}
