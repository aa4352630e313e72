//! How a cluster is named and how long to wait for it.

use kv::{Error, Limits, Result};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// TLS to PD and TiKV. Files in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Who vouches for the cluster's certificates.
    pub ca: PathBuf,
    /// Our own certificate and key, where the cluster asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the cluster's certificates, if it is not the host of the address.
    pub server_name: Option<String>,
}

/// What may be configured.
#[derive(Debug, Clone)]
pub struct TikvOptions {
    /// PD's addresses, `host:port`.
    pub endpoints: Vec<String>,
    /// Which of the cluster's databases (API version 2): its keys get the public prefix, `x` and the keyspace's id. `None`:
    /// the whole cluster (API version 1), with keys as they are.
    pub keyspace: Option<String>,
    /// Of that, only keys that begin so; nobody above sees the prefix. Not empty: a test beside others' data.
    pub key_prefix: Vec<u8>,
    /// `None`: in the clear.
    pub tls: Option<TlsOptions>,
    pub limits: Limits,
    /// How long a read, or a step of a commit, goes on trying while stores are down or regions move.
    pub operation_timeout: Duration,
    /// How long one request may take before it is sent again.
    pub request_timeout: Duration,
    pub connect_timeout: Duration,
    /// How long locks outlive a node that died; while it lives, it renews them.
    pub lock_ttl: Duration,
    /// How long superseded versions are kept.
    pub gc_age: Duration,
    /// How often a node reports what it still reads, and one of them collects.
    pub gc_interval: Duration,
    /// The longest that a node holds back garbage collection for a transaction.
    pub gc_hold_max: Duration,
    /// Whether to collect garbage in the background.
    pub background: bool,
    /// Whether each commit looks if promises about its writes were kept ([`kv::promise`]), which adds to its calls. For tests.
    pub check_promises: bool,
    /// Threads that do nothing but send and receive.
    pub io_threads: usize,
}

impl TikvOptions {
    /// Everything but the addresses as usual.
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

    /// The limits asked for, as far as a store with its default settings takes them.
    pub(crate) fn effective_limits(&self) -> Limits {
        Limits {
            key_bytes: self.limits.key_bytes.min(KEY_BYTES_MAX),
            value_bytes: self.limits.value_bytes.min(VALUE_BYTES_MAX),
            ..self.limits
        }
    }
}

/// A store takes 8 KiB (`storage.max-key-size`) of the encoded key, which is 9/8 of ours and a prefix.
const KEY_BYTES_MAX: usize = 7 << 10;

/// A write travels in one log entry of at most 8 MiB (`raftstore.raft-entry-max-size`).
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
