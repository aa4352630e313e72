//! Idle connections, which have no thread. One thread waits for all of them (epoll). It hands a connection
//! to a worker as soon as the client has sent something, is gone, or has been idle for too long.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll;

use crate::socket::Socket;
use crate::stop::Stop;
use crate::workers::Workers;

/// How often deadlines are checked.
const TICK: Duration = Duration::from_secs(1);
const EVENTS_MAX: usize = 256;

/// A connection that can be parked.
pub trait Parked: Send {
    fn socket(&self) -> &Arc<Socket>;

    /// The client has sent something, or is gone. Runs on a worker's thread.
    fn resume(self: Box<Self>);

    /// The client has been idle for too long. Runs on a worker's thread.
    fn expire(self: Box<Self>);
}

/// The parked connections.
pub struct Parking {
    epoll: OwnedFd,
    parked: Mutex<ParkedConnections>,
}

#[derive(Default)]
struct ParkedConnections {
    connections: HashMap<u64, (Box<dyn Parked>, Instant)>,
    next_key: u64,
}

impl Parking {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self {
            epoll,
            parked: Mutex::default(),
        })
    }

    pub fn count(&self) -> usize {
        self.parked.lock().connections.len()
    }

    /// Parks a connection whose client may be idle for `left`. Returns the connection if it cannot be
    /// watched.
    pub fn park<P: Parked + 'static>(
        &self,
        connection: Box<P>,
        left: Duration,
    ) -> Result<(), (io::Error, Box<P>)> {
        // The lock is held until the connection is in the map, so an event cannot come before.
        let mut parked = self.parked.lock();
        let key = parked.next_key;
        parked.next_key += 1;
        // Level-triggered: bytes that have already arrived wake it at once.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        let data = epoll::EventData::new_u64(key);
        match epoll::add(&self.epoll, &**connection.socket(), data, flags) {
            Ok(()) => {
                let deadline = Instant::now() + left;
                parked.connections.insert(key, (connection, deadline));
                Ok(())
            }
            Err(error) => Err((error.into(), connection)),
        }
    }

    fn take(&self, key: u64) -> Option<Box<dyn Parked>> {
        let (connection, _) = self.parked.lock().connections.remove(&key)?;
        // Fails only if the socket is no longer watched.
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

/// Watches parked connections until the server stops.
pub fn watch(parking: &Parking, workers: &Arc<Workers>, stop: &Stop) {
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let timeout = Timespec {
        tv_sec: TICK.as_secs() as i64,
        tv_nsec: 0,
    };
    let mut next_tick = Instant::now() + TICK;
    while !stop.is_set() {
        let waited = epoll::wait(&parking.epoll, spare_capacity(&mut events), Some(&timeout));
        if let Err(error) = waited
            && error != rustix::io::Errno::INTR
        {
            tracing::error!("watching idle connections: {error}");
            stop.wait(TICK);
        }
        for event in events.drain(..) {
            if let Some(connection) = parking.take(event.data.u64()) {
                hand_over(workers, move || connection.resume());
            }
        }
        if Instant::now() >= next_tick {
            next_tick = Instant::now() + TICK;
            for key in parking.expired() {
                if let Some(connection) = parking.take(key) {
                    hand_over(workers, move || connection.expire());
                }
            }
        }
    }
}

fn hand_over(workers: &Arc<Workers>, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = workers.run(work) {
        tracing::error!("no thread for a connection, which is closed: {error}");
    }
}
