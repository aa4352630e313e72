//! `stemdb serve`: opens the store, starts the server, and stops both at SIGTERM.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::node::NodeOptions;
use kv::Store;
use server::{Figures, Server, ServerConfig, ServerHandle, TlsConfig};
use session::Shared;
use session::catalog::Catalog;
use session::variables::GlobalVariables;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::budget;
use crate::configuration::{Configuration, Shutdown};
use crate::sessions::{Adapter, Connections};
use crate::spill;
use crate::store::{self, Opened};

const DEFAULT_STORE: &str = "rocksdb:./stemdb-data";
const DEFAULT_LISTEN: &str = "127.0.0.1:4000";
const DEFAULT_STATUS: &str = "127.0.0.1:10080";
const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

/// Command line of `stemdb serve`, which overrides the configuration file.
#[derive(clap::Args)]
pub struct Arguments {
    /// Configuration file (TOML).
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Where the data is: rocksdb:DIR, tikv://PD:PORT[,PD:PORT...] (with /KEYSPACE to use a keyspace), or
    /// memory: for data that is lost when the server stops [default: rocksdb:./stemdb-data]
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Directory of the server's own files: its self-signed certificate, spilled data of queries [default:
    /// the store's directory; on a cluster, none]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address for MySQL clients [default: 127.0.0.1:4000]
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// UNIX socket for MySQL clients
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Address for /status and /metrics, or `off` [default: 127.0.0.1:10080]
    #[arg(long, value_name = "HOST:PORT")]
    status: Option<String>,
    /// Stops at the end of standard input, so that a server which another program has started ends with it.
    #[arg(long, hide = true)]
    stop_with_stdin: bool,
}

/// Refuses processors that lack the instructions which RocksDB's checksums are compiled to
/// (`scripts/rocksdb-c++`).
fn check_processor() -> Result<(), String> {
    #[cfg(target_arch = "x86_64")]
    if !(is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq")) {
        return Err(
            "this processor has no SSE 4.2 or no PCLMULQDQ, which x86-64 servers have had since 2010".into(),
        );
    }
    Ok(())
}

/// Runs on a thread of its own, so that the server starts and serves its first clients meanwhile.
fn move_code() {
    let moving = || match scheduling::code::move_to_large_pages() {
        Ok(bytes) => tracing::debug!(bytes, "code was moved to large pages"),
        Err(error) => tracing::info!(%error, "code stays in small pages"),
    };
    if let Err(error) = std::thread::Builder::new()
        .name("code-pages".to_owned())
        .spawn(moving)
    {
        tracing::info!(%error, "code stays in small pages");
    }
}

fn stop_with_stdin() -> Result<(), String> {
    let wait = || {
        // An error is an end, too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = signal_hook::low_level::raise(SIGTERM);
    };
    let thread = std::thread::Builder::new().name("stdin".to_owned()).spawn(wait);
    thread
        .map(drop)
        .map_err(|e| format!("cannot start a thread: {e}"))
}

/// Serves until SIGTERM or SIGINT. An error's message is for the terminal.
pub fn run(arguments: Arguments) -> Result<(), String> {
    check_processor()?;
    let configuration = match &arguments.config {
        Some(path) => Configuration::read(path)?,
        None => Configuration::default(),
    };
    // This comes before anything that takes long, so that a signal during the start is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|e| format!("cannot wait for signals: {e}"))?;
    if arguments.stop_with_stdin {
        stop_with_stdin()?;
    }
    let started = Instant::now();
    if let Err(error) = server::open_files::raise_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    if configuration.large_code_pages.unwrap_or(true) {
        move_code();
    }

    let place = arguments
        .store
        .or(configuration.store.clone())
        .unwrap_or_else(|| DEFAULT_STORE.to_owned());
    let data_directory = arguments.data_dir.or(configuration.data_dir.clone());
    let memory_bytes = budget::limit_bytes(&configuration.memory);
    let Opened {
        store,
        data_directory,
        memory_parts,
    } = store::open(&place, data_directory, &configuration, memory_bytes)?;
    let listen = arguments
        .listen
        .or(configuration.listen.clone())
        .unwrap_or_else(|| DEFAULT_LISTEN.to_owned());
    let status = arguments
        .status
        .or(configuration.status.clone())
        .unwrap_or_else(|| DEFAULT_STATUS.to_owned());
    let socket = arguments.socket.or(configuration.socket.clone());
    let variables = global_variables(
        &configuration,
        &listen,
        socket.as_deref(),
        data_directory.as_deref(),
        memory_bytes,
    )?;
    let connections = variables.integer("max_connections");
    let memory = budget::start(&configuration.memory, memory_bytes, &memory_parts, connections)?;
    let store = store.within(memory);
    let spill = spill::open(data_directory.as_deref())?;
    let config = ServerConfig {
        listen: addresses(&listen)?,
        socket,
        status: if status == "off" {
            None
        } else {
            addresses(&status)?.into_iter().next()
        },
        data_directory,
        tls: tls(&configuration)?,
        client_ca: configuration.tls.client_ca.clone(),
        proxy_protocol_networks: networks(&configuration)?,
        memory,
        ..ServerConfig::default()
    };
    // This comes last: from here on the other servers on the store wait for this one.
    let catalog = open_catalog(&store, &listen, &status, &configuration)
        .map_err(|e| format!("{place}: {}", e.message))?;
    let shared = Shared::new(store.clone(), catalog, variables, spill.path.clone());
    let server = match start(config, &shared, &configuration) {
        Ok(server) => server,
        Err(reason) => {
            return Err(match shared.catalog.close() {
                Ok(()) => reason,
                Err(error) => format!(
                    "{reason}; other servers wait for this one until its lease ends: {}",
                    error.message
                ),
            });
        }
    };
    announce(&server, &place, started);

    signals.forever().next();
    stop(&server, &configuration.shutdown, &mut signals);
    shared.catalog.close().map_err(|e| e.message)?;
    store.flush().map_err(|e| e.to_string())
}

/// Starts to accept clients.
fn start(
    config: ServerConfig,
    shared: &Arc<Shared>,
    configuration: &Configuration,
) -> Result<ServerHandle, String> {
    shared.start().map_err(|e| e.message)?;
    if config.exposed_address().is_some() {
        shared.catalog.accounts.require_passwords();
    }
    let sessions = Arc::new(Adapter {
        shared: shared.clone(),
        require_tls: configuration.tls.required,
    });
    let metrics = shared.clone();
    let figures = Figures {
        append: vec![Arc::new(move |out: &mut String| {
            crate::metrics::append(&metrics, out)
        })],
        ..Figures::default()
    };
    let server = Server::start(config, sessions, figures.clone()).map_err(|e| e.to_string())?;
    shared.set_connection_layer(Box::new(Connections {
        figures,
        credentials: server.credentials(),
    }));
    Ok(server)
}

/// Opens the catalog. If other servers may use the store, this server becomes one of several nodes.
fn open_catalog(
    store: &Store,
    listen: &str,
    status: &str,
    configuration: &Configuration,
) -> types::Result<Catalog> {
    if !store.is_shared() {
        return Catalog::open(store.clone());
    }
    let defaults = NodeOptions::default();
    let cluster = &configuration.cluster;
    let seconds = |given: Option<u64>, default| given.map_or(default, Duration::from_secs);
    Catalog::join(
        store.clone(),
        NodeOptions {
            address: advertised(listen),
            status_address: status.to_owned(),
            lease: seconds(
                cluster.lease_seconds.map(|seconds| seconds.max(1)),
                defaults.lease,
            ),
            lease_wait: seconds(cluster.lease_wait_seconds, defaults.lease_wait),
            ..defaults
        },
    )
}

/// Lets running transactions finish. A second signal ends the delay.
fn stop(server: &ServerHandle, shutdown: &Shutdown, signals: &mut Signals) {
    let delay = shutdown.delay_seconds.map_or(Duration::ZERO, Duration::from_secs);
    server.announce_end();
    let over = Instant::now() + delay;
    while Instant::now() < over && signals.pending().next().is_none() {
        std::thread::sleep(Duration::from_millis(50));
    }
    server.drain(shutdown.drain_seconds.map_or(DEFAULT_DRAIN, Duration::from_secs));
}

/// Prints the line that says that the server accepts clients.
fn announce(server: &ServerHandle, place: &str, started: Instant) {
    let listening: Vec<String> = server.addresses().iter().map(SocketAddr::to_string).collect();
    println!(
        "stemdb {} ready for connections: {} (store {place}, {} ms)",
        env!("CARGO_PKG_VERSION"),
        listening.join(", "),
        started.elapsed().as_millis()
    );
}

const SECURE_FILE_PRIV: &str = "secure_file_priv";

/// Global variables: those of the configuration file, checked as SET GLOBAL checks them, and those that show
/// how the server was started.
fn global_variables(
    configuration: &Configuration,
    listen: &str,
    socket: Option<&Path>,
    data_directory: Option<&Path>,
    memory_bytes: u64,
) -> Result<GlobalVariables, String> {
    let port = listen.rsplit_once(':').map_or("", |(_, port)| port);
    let shown = |path: Option<&Path>| path.map(|p| p.display().to_string()).unwrap_or_default();
    let log = |name: &str| {
        let directory = data_directory.unwrap_or(Path::new(""));
        directory.join(format!("stemdb-{name}")).display().to_string()
    };
    let mut shown_variables = vec![
        ("version", session::VERSION.to_owned()),
        ("port", port.to_owned()),
        (
            "bind_address",
            listen
                .rsplit_once(':')
                .map_or(listen, |(host, _)| host)
                .to_owned(),
        ),
        ("socket", shown(socket)),
        ("datadir", shown(data_directory)),
        (
            "require_secure_transport",
            if configuration.tls.required { "ON" } else { "OFF" }.to_owned(),
        ),
        ("ssl_ca", shown(configuration.tls.client_ca.as_deref())),
        ("ssl_cert", shown(configuration.tls.certificate.as_deref())),
        ("ssl_key", shown(configuration.tls.key.as_deref())),
        ("thread_stack", ServerConfig::default().stack_bytes.to_string()),
        ("hostname", hostname()),
        ("general_log_file", log("general.log")),
        ("slow_query_log_file", log("slow.log")),
        (
            "stemdb_memory_limit",
            budget::statement_bytes(memory_bytes).to_string(),
        ),
    ];
    let (fixed, set): (Vec<_>, Vec<_>) = configuration
        .variable_texts()?
        .into_iter()
        .partition(|(name, _)| name == SECURE_FILE_PRIV);
    // This variable cannot be set at run time. If it is NULL, statements read and write no files on the
    // server.
    let directory = fixed.into_iter().map(|(_, text)| (SECURE_FILE_PRIV, text));
    shown_variables.extend(directory.filter(|(_, text)| text != "NULL"));
    let variables = GlobalVariables::new(&shown_variables);
    for (name, text) in set {
        variables
            .configure(&name, &text)
            .map_err(|e| format!("variables.{name}: {}", e.message))?;
    }
    Ok(variables)
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// The address that other servers show for this one. If the server listens on all interfaces, it has the
/// host's name.
fn advertised(listen: &str) -> String {
    let (host, port) = listen.rsplit_once(':').unwrap_or((listen, ""));
    let host_ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let name = hostname();
    match host_ip.is_ok_and(|ip| ip.is_unspecified()) && !name.is_empty() {
        true => format!("{name}:{port}"),
        false => listen.to_owned(),
    }
}

fn addresses(text: &str) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|e| format!("{text}: {e} (HOST:PORT is expected)"))?
        .collect();
    if found.is_empty() {
        Err(format!("{text}: no such address"))
    } else {
        Ok(found)
    }
}

fn tls(configuration: &Configuration) -> Result<TlsConfig, String> {
    match (&configuration.tls.certificate, &configuration.tls.key) {
        (Some(certificate), Some(key)) => Ok(TlsConfig::Files {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        (None, None) => Ok(TlsConfig::SelfMade),
        _ => Err("tls.certificate and tls.key go together".to_owned()),
    }
}

fn networks(configuration: &Configuration) -> Result<Vec<server::Network>, String> {
    let parse = |text: &String| {
        text.parse()
            .map_err(|_| format!("proxy_protocol.networks: '{text}' is no network (10.0.0.0/8)"))
    };
    configuration.proxy_protocol.networks.iter().map(parse).collect()
}
