//! Starting and stopping a server.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus::Registry;

use crate::config::ServerConfig;
use crate::connections::Connections;
use crate::credentials::{DigestCache, RsaKey};
use crate::failed_logins::FailedLogins;
use crate::listeners::{self, Listener, Waker};
use crate::metrics::{Figures, Measured, Metrics};
use crate::parking::{self, Parking};
use crate::sessions::Sessions;
use crate::shared::Shared;
use crate::status_port::StatusPort;
use crate::stop::Stop;
use crate::tls::{self, TlsError};
use crate::watcher;
use crate::workers::Workers;

/// How long a background thread pauses after a panic before it continues.
const PAUSE_AFTER_PANIC: Duration = Duration::from_millis(100);

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
    #[error(
        "will not listen on {address}, which other machines can reach, while {accounts} may log in without a password. \
         Start on 127.0.0.1 or the socket, give every such account a password (ALTER USER {first} IDENTIFIED BY '...') \
         or lock it (ALTER USER ... ACCOUNT LOCK) or drop it, and start again",
        first = .accounts.split(", ").next().unwrap_or_default()
    )]
    Exposed { address: SocketAddr, accounts: String },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot set up metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

/// The server.
pub struct Server;

impl Server {
    /// Starts listening and serving. Adds the server's own metrics to `figures`, which `/metrics` shows.
    pub fn start(
        config: ServerConfig,
        sessions: Arc<dyn Sessions>,
        figures: Figures,
    ) -> Result<ServerHandle, StartError> {
        refuse_exposure(&config, &*sessions)?;
        let listeners = listen(&config)?;
        let addresses = listeners
            .iter()
            .filter(|listener| matches!(listener, Listener::Tcp(_)))
            .filter_map(Listener::local_address)
            .collect();
        let status_address = listeners
            .iter()
            .find(|l| matches!(l, Listener::Status(_)))
            .and_then(Listener::local_address);

        let tls = tls::server_config(
            &config.tls,
            config.client_ca.as_deref(),
            config.data_directory.as_deref(),
        )?;
        let (tls, certificate_dates) = tls.unzip();
        let shared = Arc::new(Shared {
            tls,
            certificate_dates: certificate_dates.unwrap_or_default(),
            rsa: RsaKey::new(config.data_directory.clone()),
            digests: DigestCache::default(),
            failed_logins: FailedLogins::default(),
            metrics: Metrics::new(&figures.registry)?,
            connections: Arc::new(Connections::default()),
            workers: Workers::new(config.stack_bytes),
            parking: Parking::new()?,
            decoy: Shared::make_decoy()?,
            started: Instant::now(),
            sessions,
            config,
        });
        register_figures(&shared, &figures.registry)?;

        let stop = Arc::new(Stop::default());
        let waker = Arc::new(Waker::new()?);
        let status_port = StatusPort::new(shared.clone(), figures);
        let mut threads = Vec::new();
        threads.push(background("idle-connections", &shared, &stop, |shared, stop| {
            parking::watch(&shared.parking, &shared.workers, stop);
        })?);
        threads.push(background("busy-connections", &shared, &stop, watcher::watch)?);
        background("rsa-key", &shared, &stop, |shared, _| shared.rsa.prepare())?;

        let (mysql, status): (Vec<_>, Vec<_>) = listeners
            .into_iter()
            .partition(|listener| !matches!(listener, Listener::Status(_)));
        let accepting = accept_in_background("accept", &shared, &status_port, mysql, &waker)?;
        let status_waker = Arc::new(Waker::new()?);
        threads.push(accept_in_background(
            "status",
            &shared,
            &status_port,
            status,
            &status_waker,
        )?);
        Ok(ServerHandle {
            shared,
            addresses,
            status_address,
            stop,
            waker,
            status_waker,
            accepting: Mutex::new(Some(accepting)),
            threads: Mutex::new(threads),
        })
    }
}

/// What a running server has for `caching_sha2_password` and for TLS. Does nothing once the server is gone.
pub struct Credentials(Weak<Shared>);

impl Credentials {
    /// Removes the digests of verified passwords: FLUSH PRIVILEGES.
    pub fn forget(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.digests.clear();
        }
    }

    /// The public key that clients may request, in PEM; empty if it could not be made.
    pub fn public_key(&self) -> String {
        let shared = self.0.upgrade();
        let pem = shared.and_then(|shared| Some(shared.rsa.public_pem().ok()?.to_owned()));
        pem.unwrap_or_default()
    }

    /// When the server's certificate begins and ends to be valid; empty without TLS.
    pub fn certificate_dates(&self) -> (String, String) {
        let shared = self.0.upgrade();
        let dates = shared
            .map(|shared| shared.certificate_dates.clone())
            .unwrap_or_default();
        (dates.not_before, dates.not_after)
    }
}

/// A running server.
pub struct ServerHandle {
    shared: Arc<Shared>,
    addresses: Vec<SocketAddr>,
    status_address: Option<SocketAddr>,
    stop: Arc<Stop>,
    waker: Arc<Waker>,
    status_waker: Arc<Waker>,
    accepting: Mutex<Option<JoinHandle<()>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl ServerHandle {
    /// The TCP addresses clients can connect to, with real ports where port 0 was configured.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status_address
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.count()
    }

    pub fn credentials(&self) -> Credentials {
        Credentials(Arc::downgrade(&self.shared))
    }

    /// From here on `/status` returns 503, and nothing else changes, so that a load balancer can stop
    /// sending clients before they are refused.
    pub fn announce_end(&self) {
        self.shared.connections.announce_end();
    }

    /// Stops the server: accepts no more connections, closes idle ones, lets open transactions finish
    /// within `timeout`, then closes the rest. Returns whether all connections ended by themselves.
    /// Meanwhile `/status` returns 503.
    pub fn drain(&self, timeout: Duration) -> bool {
        /// The time that interrupted statements get to end.
        const AFTER_CUT: Duration = Duration::from_secs(5);

        self.shared.connections.start_draining();
        self.waker.wake();
        if let Some(accepting) = self.accepting.lock().take() {
            join(accepting);
        }
        // Connections that were accepted a moment ago.
        self.shared.connections.close_idle();
        let all_ended = self.shared.connections.wait_until_gone(timeout);
        if !all_ended {
            self.shared.connections.cut_all();
            if !self.shared.connections.wait_until_gone(AFTER_CUT) {
                tracing::warn!("{} connections did not end", self.shared.connections.count());
            }
        }
        self.stop_threads();
        all_ended
    }

    /// Returns once the server has stopped.
    pub fn wait(&self) {
        self.stop.wait_for_ever();
    }

    fn stop_threads(&self) {
        self.stop.set();
        self.status_waker.wake();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            join(thread);
        }
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        if !self.stop.is_set() {
            self.drain(Duration::ZERO);
        }
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a background thread of the server panicked");
    }
}

/// Refuses to listen where other machines can connect while an account has no password.
fn refuse_exposure(config: &ServerConfig, sessions: &dyn Sessions) -> Result<(), StartError> {
    let Some(address) = config.exposed_address() else {
        return Ok(());
    };
    let accounts = sessions.accounts_without_password();
    if accounts.is_empty() {
        return Ok(());
    }
    Err(StartError::Exposed {
        address,
        accounts: accounts.join(", "),
    })
}

fn listen(config: &ServerConfig) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::new();
    for address in &config.listen {
        let failed = |source| StartError::Listen {
            address: address.to_string(),
            source,
        };
        listeners.push(Listener::tcp(*address).map_err(failed)?);
    }
    if let Some(path) = &config.socket {
        let failed = |source| StartError::Listen {
            address: path.display().to_string(),
            source,
        };
        listeners.push(Listener::unix(path).map_err(failed)?);
    }
    if let Some(address) = config.status {
        let failed = |source| StartError::Listen {
            address: address.to_string(),
            source,
        };
        listeners.push(Listener::status(address).map_err(failed)?);
    }
    Ok(listeners)
}

fn register_figures(shared: &Arc<Shared>, registry: &Registry) -> prometheus::Result<()> {
    // Weak, since the registry may outlive the server.
    let figure = |read: fn(&Shared) -> f64| {
        let shared = Arc::downgrade(shared);
        move || shared.upgrade().map_or(0.0, |shared| read(&shared))
    };
    Measured::register(
        registry,
        "stemdb_connections",
        "Connections now",
        figure(|shared| shared.connections.count() as f64),
    )?;
    Measured::register(
        registry,
        "stemdb_connections_parked",
        "Idle connections that hold no thread",
        figure(|shared| shared.parking.count() as f64),
    )?;
    Measured::register(
        registry,
        "stemdb_connection_threads_idle",
        "Threads that wait for a connection",
        figure(|shared| shared.workers.waiting() as f64),
    )?;
    Measured::register(
        registry,
        "stemdb_connection_threads_created",
        "Threads created for connections since the start",
        figure(|shared| shared.workers.created() as f64),
    )?;
    Measured::register(
        registry,
        "stemdb_uptime_seconds",
        "Seconds since the server started",
        figure(|shared| shared.started.elapsed().as_secs_f64()),
    )
}

fn background(
    name: &str,
    shared: &Arc<Shared>,
    stop: &Arc<Stop>,
    work: fn(&Arc<Shared>, &Stop),
) -> io::Result<JoinHandle<()>> {
    let (shared, stop) = (shared.clone(), stop.clone());
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || continue_after_panics(|| work(&shared, &stop)))
}

/// Runs a background thread's work again after a panic, which is logged. The work changes shared state only
/// in ways that a panic does not damage.
fn continue_after_panics(work: impl Fn()) {
    while catch_unwind(AssertUnwindSafe(&work)).is_err() {
        let thread = std::thread::current();
        tracing::error!(
            "the thread {} panicked; it goes on",
            thread.name().unwrap_or_default()
        );
        std::thread::sleep(PAUSE_AFTER_PANIC);
    }
}

fn accept_in_background(
    name: &str,
    shared: &Arc<Shared>,
    status_port: &Arc<StatusPort>,
    listeners: Vec<Listener>,
    waker: &Arc<Waker>,
) -> io::Result<JoinHandle<()>> {
    let (shared, status_port, waker) = (shared.clone(), status_port.clone(), waker.clone());
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        continue_after_panics(|| listeners::accept(&shared, &status_port, &listeners, &waker));
        // The listeners are closed here.
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_thread_of_the_servers_goes_on_after_a_panic() {
        let runs = Cell::new(0);
        continue_after_panics(|| {
            runs.set(runs.get() + 1);
            assert!(runs.get() == 3, "on purpose");
        });
        assert_eq!(runs.get(), 3);
    }
}
