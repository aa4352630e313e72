//! Where idle connections wait without a thread: one thread waits for all of them (epoll), and hands a connection to a
//! worker as soon as its client has sent something, has gone, or has been idle for too long.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll;

use crate::connection::Connection;
use crate::shared::Shared;
use crate::stop::Stop;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_secs(1);
const EVENTS_MAX: usize = 256;

/// Connections that wait.
pub struct Parking {
    epoll: OwnedFd,
    parked: Mutex<Parked>,
}

#[derive(Default)]
struct Parked {
    connections: HashMap<u64, (Box<Connection>, Instant)>,
    next_key: u64,
}

impl Parking {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            epoll,
            parked: Mutex::new(Parked::default()),
        })
    }

    pub fn count(&self) -> usize {
        self.parked.lock().connections.len()
    }

    /// Takes a connection whose client may be idle for `left`. Gives it back where it cannot be watched.
    pub fn park(
        &self,
        connection: Box<Connection>,
        left: Duration,
    ) -> Result<(), (io::Error, Box<Connection>)> {
        let socket = connection.socket().clone();
        let mut parked = self.parked.lock();
        let key = parked.next_key;
        parked.next_key += 1;
        parked
            .connections
            .insert(key, (connection, Instant::now() + left));
        // Level-triggered: bytes that are there already wake it up at once.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        let added = epoll::add(&self.epoll, &*socket, epoll::EventData::new_u64(key), flags);
        match added {
            Ok(()) => Ok(()),
            Err(error) => match parked.connections.remove(&key) {
                Some((connection, _)) => Err((error.into(), connection)),
                // Cannot be: the lock has been held all along.
                None => Ok(()),
            },
        }
    }

    fn take(&self, key: u64) -> Option<Box<Connection>> {
        let (connection, _) = self.parked.lock().connections.remove(&key)?;
        // Fails only where the socket is not watched any more.
        let _ = epoll::delete(&self.epoll, &**connection.socket());
        Some(connection)
    }

    fn expired(&self) -> Vec<u64> {
        let now = Instant::now();
        let parked = self.parked.lock();
        parked
            .connections
            .iter()
            .filter(|(_, (_, deadline))| *deadline <= now)
            .map(|(key, _)| *key)
            .collect()
    }
}

/// Watches parked connections until told to stop.
pub fn watch(shared: &Arc<Shared>, stop: &Stop) {
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let timeout = Timespec {
        tv_sec: TICK.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut next_tick = Instant::now() + TICK;
    while !stop.is_set() {
        let waited = epoll::wait(&shared.parking.epoll, spare_capacity(&mut events), Some(&timeout));
        if let Err(error) = waited
            && error != rustix::io::Errno::INTR
        {
            tracing::error!("watching idle connections: {error}");
            stop.wait(TICK);
        }
        for event in events.drain(..) {
            if let Some(connection) = shared.parking.take(event.data.u64()) {
                hand_over(shared, connection, Connection::serve);
            }
        }
        if Instant::now() >= next_tick {
            next_tick = Instant::now() + TICK;
            for key in shared.parking.expired() {
                if let Some(connection) = shared.parking.take(key) {
                    hand_over(shared, connection, Connection::expire);
                }
            }
        }
    }
}

fn hand_over(shared: &Arc<Shared>, connection: Box<Connection>, work: fn(Box<Connection>)) {
    if let Err(error) = shared.workers.run(move || work(connection)) {
        tracing::error!("no thread for a connection, which is closed: {error}");
    }
}
