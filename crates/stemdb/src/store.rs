//! Opens the store that `--store` names.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kv::Store;

use crate::configuration::{Configuration, Storage, Tikv};

/// An environment variable for tests (tests/README.md). If it is 1, each read from the row cache is compared
/// with RocksDB.
const COMPARE_CACHED_READS: &str = "STEMDB_COMPARE_CACHED_READS";

/// An open store, and the directory of the server's own files: its certificate, and spilled data of queries.
pub struct Opened {
    pub store: Store,
    /// `None`: the certificate exists only in memory, and queries spill to the system's temporary directory.
    pub data_directory: Option<PathBuf>,
    /// The parts of the store that take memory, by name, in bytes.
    pub memory_parts: Vec<(&'static str, u64)>,
}

/// Opens the store. `data_directory`: as configured. Without it, it is the directory of the store. A cluster
/// has none, so a server on it leaves no files behind. `memory_bytes`: the limit of the process; the store
/// takes a part of it.
///
/// # Errors
/// A message for the terminal.
pub fn open(
    place: &str,
    data_directory: Option<PathBuf>,
    configuration: &Configuration,
    memory_bytes: u64,
) -> Result<Opened, String> {
    if let Some(directory) = &data_directory {
        make(directory)?;
    }
    let check_promises = checks_promises();
    if place == "memory:" {
        let options = kv::EmbeddedOptions {
            check_promises,
            ..kv::EmbeddedOptions::default()
        };
        return Ok(Opened {
            store: Store::new(Arc::new(kv::memory::engine_with(options))),
            data_directory,
            memory_parts: Vec::new(),
        });
    }
    if place.starts_with("tikv://") {
        return Ok(Opened {
            store: cluster(place, &configuration.tikv, check_promises)?,
            data_directory,
            memory_parts: Vec::new(),
        });
    }
    let Some(directory) = place.strip_prefix("rocksdb:").filter(|d| !d.is_empty()) else {
        return Err(format!(
            "--store {place}: rocksdb:DIR, tikv://PD:PORT[,PD:PORT...][/KEYSPACE] or memory: is expected"
        ));
    };
    let directory = PathBuf::from(directory);
    make(&directory)?;
    let mut options = embedded(&configuration.storage, memory_bytes);
    options.embedded.check_promises = check_promises;
    Ok(Opened {
        memory_parts: options.memory_parts().to_vec(),
        store: kv_rocksdb::open(&directory, options).map_err(|e| e.to_string())?,
        data_directory: data_directory.or(Some(directory)),
    })
}

/// Only the server's user may read a new directory: it will hold tables, password hashes and a private key.
fn make(directory: &Path) -> Result<(), String> {
    let failed = |e: io::Error| format!("{}: {e}", directory.display());
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    DirBuilder::new().mode(0o700).create(directory).map_err(failed)
}

/// For tests: whether the store checks the promises that writes rely on.
const CHECK_PROMISES: &str = "STEMDB_CHECK_PROMISES";

fn checks_promises() -> bool {
    let is_on = env::var_os(CHECK_PROMISES).is_some_and(|value| value == "1");
    if is_on {
        tracing::warn!("{CHECK_PROMISES} is set: each commit checks its promises, which takes time");
    }
    is_on
}

fn embedded(storage: &Storage, memory_bytes: u64) -> kv_rocksdb::RocksOptions {
    let defaults = kv_rocksdb::RocksOptions::within(memory_bytes);
    kv_rocksdb::RocksOptions {
        block_cache_bytes: storage
            .block_cache_bytes
            .map_or(defaults.block_cache_bytes, |n| n as u64),
        row_cache_bytes: storage
            .row_cache_bytes
            .map_or(defaults.row_cache_bytes, |n| n as u64),
        history_bytes: storage.history_bytes.map_or(defaults.history_bytes, |n| n as u64),
        write_buffer_bytes: storage
            .write_buffer_bytes
            .map_or(defaults.write_buffer_bytes, |n| n as u64),
        max_open_files: storage.max_open_files.unwrap_or(defaults.max_open_files),
        disk_reserve_bytes: storage.reserve_bytes.or(defaults.disk_reserve_bytes),
        compare_cached_reads: std::env::var_os(COMPARE_CACHED_READS).is_some_and(|value| value == "1"),
        ..defaults
    }
}

fn cluster(url: &str, asked: &Tikv, check_promises: bool) -> Result<Store, String> {
    let mut options: kv_tikv::TikvOptions = url.parse().map_err(|e: kv::Error| e.to_string())?;
    options.check_promises = check_promises;
    options.tls = tls(asked)?;
    if let Some(seconds) = asked.operation_timeout_seconds {
        options.operation_timeout = Duration::from_secs(seconds.max(1));
    }
    if let Some(threads) = asked.io_threads {
        options.io_threads = threads.clamp(1, 64);
    }
    kv_tikv::open(options).map_err(|e| format!("{url}: {e}"))
}

fn tls(asked: &Tikv) -> Result<Option<kv_tikv::TlsOptions>, String> {
    let identity = match (&asked.certificate, &asked.key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => return Err("tikv.certificate and tikv.key go together".to_owned()),
    };
    match &asked.ca {
        Some(ca) => Ok(Some(kv_tikv::TlsOptions {
            ca: ca.clone(),
            identity,
            server_name: asked.server_name.clone(),
        })),
        None if identity.is_some() || asked.server_name.is_some() => {
            Err("tikv.ca is missing: TLS to the cluster needs its certificate authority".to_owned())
        }
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_tls_is_refused_by_name() {
        let file = |text: &str| tls(&toml::from_str::<Configuration>(text).unwrap().tikv);
        assert_eq!(file("").unwrap(), None);
        let all = file("[tikv]\nca = 'a'\ncertificate = 'c'\nkey = 'k'")
            .unwrap()
            .unwrap();
        assert_eq!(all.identity, Some(("c".into(), "k".into())));
        for (text, named) in [
            ("[tikv]\ncertificate = 'c'\nkey = 'k'", "tikv.ca"),
            ("[tikv]\nca = 'a'\nkey = 'k'", "tikv.certificate"),
        ] {
            let error = file(text).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn other_stores_are_not_known() {
        let error = open("mongo:x", None, &Configuration::default(), 1 << 30)
            .err()
            .unwrap();
        assert!(error.contains("rocksdb:DIR"), "{error}");
    }
}
