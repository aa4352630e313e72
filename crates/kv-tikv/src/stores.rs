//! Stores by id: their addresses, and connections to them, one per I/O thread.

use crate::backoff::Until;
use crate::channel::Connector;
use crate::connection::{CallError, Connection, Pending};
use crate::io::Io;
use crate::pd::PdClient;
use bytes::Bytes;
use kv::Result;
use parking_lot::{Mutex, RwLock};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The pause before a broken connection is opened again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// One store.
pub struct Store {
    pub address: String,
    connections: Vec<Mutex<StoreConnection>>,
}

struct StoreConnection {
    connection: Option<Arc<Connection>>,
    opened: Option<Instant>,
}

/// See the module.
pub struct Stores {
    io: Arc<Io>,
    connector: Connector,
    stores: RwLock<HashMap<u64, Arc<Store>>>,
}

impl Stores {
    pub fn new(io: Arc<Io>, connector: Connector) -> Self {
        Self {
            io,
            connector,
            stores: RwLock::default(),
        }
    }

    /// `None`: PD does not know such a store.
    pub fn get(&self, id: u64, pd: &PdClient, until: Until) -> Result<Option<Arc<Store>>> {
        if let Some(store) = self.stores.read().get(&id) {
            return Ok(Some(Arc::clone(store)));
        }
        let Some(found) = pd.store(id, until)? else {
            return Ok(None);
        };
        let connections = (0..self.io.len())
            .map(|_| {
                Mutex::new(StoreConnection {
                    connection: None,
                    opened: None,
                })
            })
            .collect();
        let store = Arc::new(Store {
            address: found.address,
            connections,
        });
        // If another thread has inserted the store first, its connections may carry commands already, so
        // they are used.
        let mut stores = self.stores.write();
        Ok(Some(Arc::clone(stores.entry(id).or_insert(store))))
    }

    /// Forgets a store, which may have moved to another address.
    pub fn forget(&self, id: u64) {
        self.stores.write().remove(&id);
    }

    /// Forgets a store after a failure, unless a connection to it is open: the store may have moved to
    /// another address.
    pub fn forget_unless_connected(&self, id: u64) {
        let store = self.stores.read().get(&id).cloned();
        let is_connected = |store: &Store| {
            store.connections.iter().any(|entry| {
                let entry = entry.lock();
                entry
                    .connection
                    .as_ref()
                    .is_some_and(|connection| connection.is_open())
                    || entry
                        .opened
                        .is_some_and(|opened| opened.elapsed() < RECONNECT_PAUSE)
            })
        };
        if store.is_some_and(|store| !is_connected(&store)) {
            self.forget(id);
        }
    }

    /// Queues a command to be sent.
    pub fn submit(&self, store: &Store, command: Bytes) -> Result<Pending, CallError> {
        let index = this_threads_index() % store.connections.len().max(1);
        let Some(entry) = store.connections.get(index) else {
            return Err(CallError::Unsent("no connection".into()));
        };
        let connection = {
            let mut entry = entry.lock();
            match &entry.connection {
                Some(connection) if connection.is_open() => Arc::clone(connection),
                _ => {
                    if entry
                        .opened
                        .is_some_and(|opened| opened.elapsed() < RECONNECT_PAUSE)
                    {
                        return Err(CallError::Unsent(format!(
                            "store {} is not connected",
                            store.address
                        )));
                    }
                    let endpoint = self
                        .connector
                        .endpoint(&store.address)
                        .map_err(|error| CallError::Unsent(error.to_string()))?;
                    let connection = Arc::new(Connection::open(self.io.handle(index), endpoint));
                    entry.opened = Some(Instant::now());
                    entry.connection = Some(Arc::clone(&connection));
                    connection
                }
            }
        };
        connection.submit(command)
    }
}

/// Each thread always uses the same connection of a store, and threads are spread over the connections.
fn this_threads_index() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static INDEX: Cell<Option<usize>> = const { Cell::new(None) };
    }
    INDEX.with(|index| {
        index.get().unwrap_or_else(|| {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            index.set(Some(next));
            next
        })
    })
}
