//! The configuration file: TOML, every key optional. Unknown keys are errors that name the key. The command
//! line overrides the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The contents of `--config FILE.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Configuration {
    /// `rocksdb:DIR`, `tikv://PD:PORT[,PD:PORT...][/KEYSPACE]` or `memory:`.
    pub store: Option<String>,
    /// The directory of the server's own files: its self-signed certificate, and spilled data of queries.
    /// Default: the directory of a `rocksdb:` store, otherwise none.
    pub data_dir: Option<PathBuf>,
    /// Address and port for MySQL clients.
    pub listen: Option<String>,
    /// Path of the UNIX socket for MySQL clients.
    pub socket: Option<PathBuf>,
    /// Address and port for `/status` and `/metrics`.
    pub status: Option<String>,
    /// Whether the server's code is copied to large pages: faster, for about 40 MiB of memory. Turn it off
    /// for profilers and probes, which find no function names in the copy. Default: true.
    pub large_code_pages: Option<bool>,
    pub tls: Tls,
    pub proxy_protocol: ProxyProtocol,
    pub memory: Memory,
    pub storage: Storage,
    pub tikv: Tikv,
    pub cluster: Cluster,
    pub shutdown: Shutdown,
    /// Initial values of global system variables.
    pub variables: BTreeMap<String, toml::Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// PEM files. Without them the server makes a self-signed certificate in its data directory.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// PEM file of the authorities that sign clients' certificates. With it, the server requests a
    /// certificate from each client. A client needs one only if its account requires it (REQUIRE X509).
    pub client_ca: Option<PathBuf>,
    /// Refuse clients on TCP that do not use TLS.
    pub required: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyProtocol {
    /// Networks (`10.0.0.0/8`) whose connections start with a PROXY protocol v2 header.
    pub networks: Vec<String>,
}

/// The memory of the process.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Bytes the process may use. Default: seven eighths of the machine's memory, or of the limit of its
    /// control group.
    pub limit_bytes: Option<u64>,
    /// How long a large statement waits for memory that other statements hold. Default: 120.
    pub wait_seconds: Option<u64>,
}

/// Settings of a `rocksdb:` store.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Storage {
    /// Size of the cache of uncompressed blocks, in bytes. Default: a quarter of the memory limit.
    pub block_cache_bytes: Option<usize>,
    /// Size of the cache of rows in bytes. Rows are read faster from it than from blocks. Default: an eighth
    /// of the memory limit.
    pub row_cache_bytes: Option<usize>,
    /// Bytes of superseded versions of rows in memory. Default: a sixty-fourth of the memory limit, between 8
    /// and 256 MiB.
    pub history_bytes: Option<usize>,
    /// Bytes of new data to collect in memory before they are written to a file.
    pub write_buffer_bytes: Option<usize>,
    /// How many files the store may have open.
    pub max_open_files: Option<i32>,
    /// Bytes of the disk that new data may not use. Statements that free space (DROP, TRUNCATE) may use them.
    /// Default: 256 MiB, or a twentieth of a small disk.
    pub reserve_bytes: Option<u64>,
}

/// Settings of a `tikv:` store. With `ca`, connections to PD and TiKV use TLS.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tikv {
    /// PEM: the certificate authority of the cluster.
    pub ca: Option<PathBuf>,
    /// PEM files: the server's certificate and key for the cluster, if it requires them.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The name in the cluster's certificates, if it differs from the host in its addresses.
    pub server_name: Option<String>,
    /// How long a read, or a step of a commit, is retried while stores are down or regions move. Default: 40.
    pub operation_timeout_seconds: Option<u64>,
    /// Threads that only send and receive. Default: a quarter of the cores, one to four.
    pub io_threads: Option<usize>,
}

/// Servers on one store.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// Seconds that the other servers wait for a server that has gone away, before they change definitions.
    /// Default: 10.
    pub lease_seconds: Option<u64>,
    /// Seconds that a statement waits where this server has no lease. Default: 40.
    pub lease_wait_seconds: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shutdown {
    /// Seconds after SIGTERM in which `/status` replies 503 already and clients are still accepted, so that a
    /// load balancer has stopped sending clients by the time they are refused. Default: 0.
    pub delay_seconds: Option<u64>,
    /// Seconds that running transactions have to finish after SIGTERM. Default: 30.
    pub drain_seconds: Option<u64>,
}

impl Configuration {
    /// Reads a file; the message of an error names the file and the key.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// The `[variables]` table as texts, in the form SHOW VARIABLES prints.
    pub fn variable_texts(&self) -> Result<Vec<(String, String)>, String> {
        let text = |(name, value): (&String, &toml::Value)| match value {
            toml::Value::String(s) => Ok((name.clone(), s.clone())),
            toml::Value::Integer(i) => Ok((name.clone(), i.to_string())),
            toml::Value::Float(f) => Ok((name.clone(), f.to_string())),
            toml::Value::Boolean(b) => Ok((name.clone(), if *b { "ON" } else { "OFF" }.to_owned())),
            _ => Err(format!(
                "variables.{name}: a string, a number or a boolean is expected"
            )),
        };
        self.variables.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_named() {
        let error = toml::from_str::<Configuration>("stroe = 'memory:'")
            .unwrap_err()
            .to_string();
        assert!(error.contains("stroe"), "{error}");
        let error = toml::from_str::<Configuration>("[tls]\ncertficate = 'x'")
            .unwrap_err()
            .to_string();
        assert!(error.contains("certficate"), "{error}");
    }

    #[test]
    fn the_examples_are_understood() {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        for example in ["stemdb.toml", "compose/stemdb.toml", "kubernetes/stemdb.toml"] {
            let configuration = Configuration::read(&deploy.join(example)).unwrap();
            assert!(configuration.store.is_some(), "{example}");
            configuration.variable_texts().unwrap();
        }
    }

    #[test]
    fn variables_become_texts() {
        let file = "[variables]\nmax_connections = 5\nautocommit = false\nsql_mode = 'ANSI_QUOTES'";
        let texts = toml::from_str::<Configuration>(file)
            .unwrap()
            .variable_texts()
            .unwrap();
        let expected = [
            ("autocommit", "OFF"),
            ("max_connections", "5"),
            ("sql_mode", "ANSI_QUOTES"),
        ];
        assert_eq!(texts, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
