//! Every live connection, as threads other than its own see it: for KILL, for draining, and for the watcher of clients
//! that have vanished.

use std::collections::HashMap;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use wire::HangUp;

use crate::socket::Socket;

/// Ends the running statement.
pub type Interrupter = Arc<dyn Fn() + Send + Sync>;

/// The number of a connection's first command: its login.
pub const LOGIN: u64 = 1;

/// One connection, shared.
pub struct Control {
    pub id: u64,
    socket: Arc<Socket>,
    /// Counts up at the start and at the end of each command: odd while one runs.
    commands: AtomicU64,
    in_transaction: AtomicBool,
    hung_up: AtomicBool,
    interrupter: Mutex<Option<Interrupter>>,
}

impl Control {
    fn new(id: u64, socket: Arc<Socket>) -> Self {
        Self {
            id,
            socket,
            commands: AtomicU64::new(LOGIN),
            in_transaction: AtomicBool::new(false),
            hung_up: AtomicBool::new(false),
            interrupter: Mutex::new(None),
        }
    }

    pub fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    pub fn start_command(&self) {
        self.commands.fetch_or(1, Ordering::SeqCst);
    }

    pub fn end_command(&self, in_transaction: bool) {
        self.in_transaction.store(in_transaction, Ordering::Relaxed);
        self.commands.fetch_add(1, Ordering::SeqCst);
    }

    /// A number that is the same for as long as one command runs; `None` between commands.
    pub fn running(&self) -> Option<u64> {
        Some(self.commands.load(Ordering::SeqCst)).filter(|count| count % 2 == 1)
    }

    pub fn set_interrupter(&self, interrupter: Interrupter) {
        *self.interrupter.lock() = Some(interrupter);
    }

    pub fn interrupt(&self) {
        let interrupter = self.interrupter.lock().clone();
        if let Some(interrupt) = interrupter {
            interrupt();
        }
    }

    pub fn is_hung_up(&self) -> bool {
        self.hung_up.load(Ordering::SeqCst)
    }

    /// Ends the connection once it is between commands: what runs is answered.
    pub fn end_reading(&self) {
        self.hung_up.store(true, Ordering::SeqCst);
        self.socket.end_reading();
    }

    /// Ends the connection without waiting for anything.
    pub fn cut(&self) {
        self.hung_up.store(true, Ordering::SeqCst);
        self.socket.shutdown(Shutdown::Both);
    }
}

/// For KILL: as in MySQL, the client loses its connection, and what ran is not answered.
impl HangUp for Control {
    fn hang_up(&self) {
        self.cut();
    }
}

/// All of them.
#[derive(Default)]
pub struct Connections {
    live: Mutex<HashMap<u64, Arc<Control>>>,
    gone: Condvar,
    /// The end has been announced, though nothing ends yet.
    ending: AtomicBool,
    draining: AtomicBool,
}

impl Connections {
    /// Enters a new connection under a number of its own; it is there until the answer is dropped.
    pub fn enter(self: &Arc<Self>, id: u64, socket: Arc<Socket>) -> Entry {
        let control = Arc::new(Control::new(id, socket));
        self.live.lock().insert(id, control.clone());
        Entry {
            connections: self.clone(),
            control,
        }
    }

    pub fn count(&self) -> usize {
        self.live.lock().len()
    }

    pub fn list(&self) -> Vec<Arc<Control>> {
        self.live.lock().values().cloned().collect()
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Whether load balancers are to send nobody any more.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    pub fn announce_end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// From here on a connection closes as soon as it is between commands and in no transaction.
    pub fn start_draining(&self) {
        self.announce_end();
        self.draining.store(true, Ordering::SeqCst);
        self.close_idle();
    }

    /// Wakes up the connections that wait for a command and are in no transaction, and those that are logging in.
    pub fn close_idle(&self) {
        for control in self.list() {
            match control.running() {
                None if !control.in_transaction.load(Ordering::Relaxed) => control.end_reading(),
                Some(LOGIN) => control.cut(),
                _ => {}
            }
        }
    }

    /// Ends all connections, their running statements included.
    pub fn cut_all(&self) {
        for control in self.list() {
            control.interrupt();
            control.cut();
        }
    }

    /// Waits until no connection is left; `false` where some are after `timeout`.
    pub fn wait_until_gone(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut live = self.live.lock();
        while !live.is_empty() {
            if self.gone.wait_until(&mut live, deadline).timed_out() {
                return live.is_empty();
            }
        }
        true
    }
}

/// A connection's place among the live ones.
pub struct Entry {
    connections: Arc<Connections>,
    pub control: Arc<Control>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut live = self.connections.live.lock();
        live.remove(&self.control.id);
        if live.is_empty() {
            self.connections.gone.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Arc<Socket>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Arc::new(Socket::unix(ours)), theirs)
    }

    #[test]
    fn draining_wakes_idle_connections_only() {
        let connections = Arc::new(Connections::default());
        let (idle, busy, open, login) = (pair(), pair(), pair(), pair());
        let idle_entry = connections.enter(1, idle.0);
        idle_entry.control.end_command(false);
        let busy_entry = connections.enter(2, busy.0);
        busy_entry.control.end_command(false);
        busy_entry.control.start_command();
        let login_entry = connections.enter(3, login.0);
        let open_entry = connections.enter(4, open.0);
        open_entry.control.end_command(true);
        connections.start_draining();
        assert!(idle_entry.control.is_hung_up());
        assert!(login_entry.control.is_hung_up());
        assert!(!busy_entry.control.is_hung_up());
        assert!(!open_entry.control.is_hung_up());
        assert!(!connections.wait_until_gone(Duration::from_millis(1)));
        drop((idle_entry, busy_entry, open_entry, login_entry));
        assert!(connections.wait_until_gone(Duration::from_millis(1)));
    }

    #[test]
    fn hanging_up_ends_a_blocking_read() {
        let connections = Arc::new(Connections::default());
        let (ours, _theirs) = pair();
        let entry = connections.enter(5, ours.clone());
        let control = entry.control.clone();
        let reader = std::thread::spawn(move || (&*ours).read(&mut [0; 1]).unwrap());
        std::thread::sleep(Duration::from_millis(20));
        control.hang_up();
        assert_eq!(reader.join().unwrap(), 0);
    }

    #[test]
    fn a_command_has_one_number() {
        let connections = Arc::new(Connections::default());
        let entry = connections.enter(6, pair().0);
        let login = entry.control.running();
        assert!(login.is_some());
        entry.control.end_command(false);
        assert_eq!(entry.control.running(), None);
        entry.control.start_command();
        assert!(entry.control.running().is_some());
        assert_ne!(entry.control.running(), login);
    }
}
