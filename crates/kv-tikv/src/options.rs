//! The configuration of a cluster: its addresses, limits and time-outs.

use kv::{Error, Limits, Result};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// TLS to PD and TiKV. All files are PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The authority that has signed the cluster's certificates.
    pub ca: PathBuf,
    /// Our own certificate and key, if the cluster requires them.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the cluster's certificates, if it differs from the host of the address.
    pub server_name: Option<String>,
}

/// All settings of the engine.
#[derive(Debug, Clone)]
pub struct TikvOptions {
    /// PD's addresses, `host:port`.
    pub endpoints: Vec<String>,
    /// The keyspace to use (API version 2): its keys get the public prefix, `x` and the keyspace's id.
    /// `None`: the whole cluster (API version 1), with keys unchanged.
    pub keyspace: Option<String>,
    /// Restricts the store to keys with this prefix, which callers do not see. Used by tests that share a
    /// cluster with other data.
    pub key_prefix: Vec<u8>,
    /// `None`: no TLS.
    pub tls: Option<TlsOptions>,
    pub limits: Limits,
    /// How long a read, or one step of a commit, is retried while stores are down or regions move.
    pub operation_timeout: Duration,
    /// How long to wait for a response before a request is sent again.
    pub request_timeout: Duration,
    pub connect_timeout: Duration,
    /// How long the locks of a node that died stay valid. A live node renews them.
    pub lock_ttl: Duration,
    /// How long old versions are preserved.
    pub gc_age: Duration,
    /// How often a node reports what it still reads, and checks whether a collection is due.
    pub gc_interval: Duration,
    /// The longest time that a node holds back garbage collection for a transaction.
    pub gc_hold_max: Duration,
    /// Whether garbage is collected in the background.
    pub background: bool,
    /// Whether each commit checks the promises made about its writes ([`kv::promise`]). That adds a
    /// request. For tests.
    pub check_promises: bool,
    /// Number of I/O threads.
    pub io_threads: usize,
}

impl TikvOptions {
    /// The defaults for everything but the addresses.
    pub fn new(endpoints: Vec<String>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            endpoints,
            keyspace: None,
            key_prefix: Vec::new(),
            tls: None,
            limits: Limits {
                key_bytes: KEY_BYTES_MAX,
                value_bytes: VALUE_BYTES_MAX,
                ..Limits::default()
            },
            operation_timeout: Duration::from_secs(40),
            request_timeout: Duration::from_secs(15),
            connect_timeout: Duration::from_secs(5),
            lock_ttl: Duration::from_secs(20),
            gc_age: Duration::from_secs(600),
            gc_interval: Duration::from_secs(60),
            gc_hold_max: Duration::from_secs(24 * 3600),
            background: true,
            check_promises: false,
            io_threads: (cores / 4).clamp(1, 4),
        }
    }

    /// The configured limits, at most what a store with default settings accepts.
    pub(crate) fn effective_limits(&self) -> Limits {
        Limits {
            key_bytes: self.limits.key_bytes.min(KEY_BYTES_MAX),
            value_bytes: self.limits.value_bytes.min(VALUE_BYTES_MAX),
            ..self.limits
        }
    }
}

/// A store accepts 8 KiB (`storage.max-key-size`) of the encoded key, which takes 9/8 of our key's bytes
/// and a prefix.
const KEY_BYTES_MAX: usize = 7 << 10;

/// A write is replicated in one log entry of at most 8 MiB (`raftstore.raft-entry-max-size`).
const VALUE_BYTES_MAX: usize = 6 << 20;

impl FromStr for TikvOptions {
    type Err = Error;

    /// `tikv://PD1:2379,PD2:2379[/KEYSPACE]`.
    fn from_str(url: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Error::Unavailable(format!(
                "{what} in '{url}'; expected tikv://HOST:PORT[,HOST:PORT...][/KEYSPACE]"
            ))
        };
        let rest = url.strip_prefix("tikv://").ok_or_else(|| wrong("no tikv://"))?;
        let (hosts, keyspace) = match rest.split_once('/') {
            Some((hosts, keyspace)) => (hosts, Some(keyspace).filter(|name| !name.is_empty())),
            None => (rest, None),
        };
        if keyspace.is_some_and(|name| {
            !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        }) {
            return Err(wrong("a keyspace's name has letters, digits, '_' and '-' only:"));
        }
        let endpoints: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        let has_port = |host: &String| {
            host.rsplit_once(':')
                .is_some_and(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok())
        };
        if !endpoints.iter().all(has_port) {
            return Err(wrong("an address without a port"));
        }
        Ok(Self {
            keyspace: keyspace.map(str::to_owned),
            ..Self::new(endpoints)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_addresses_and_a_keyspace() {
        let options: TikvOptions = "tikv://pd1:2379,[::1]:2379/shop".parse().unwrap();
        assert_eq!(options.endpoints, ["pd1:2379", "[::1]:2379"]);
        assert_eq!(options.keyspace.as_deref(), Some("shop"));
        let options: TikvOptions = "tikv://pd1:2379".parse().unwrap();
        assert_eq!(options.keyspace, None);
        for wrong in [
            "",
            "pd1:2379",
            "tikv://",
            "tikv://pd1",
            "tikv://pd1:x",
            "tikv://pd1:2379,",
            "tikv://a:1/b/c",
        ] {
            assert!(wrong.parse::<TikvOptions>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_longest_key_fits_once_it_is_encoded() {
        let with_prefix = KEY_BYTES_MAX + 4;
        assert!((with_prefix / 8 + 1) * 9 <= 8 << 10);
    }
}
