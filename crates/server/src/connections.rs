//! All live connections, as other threads see them: for KILL, for draining, and for the watcher of vanished
//! clients.

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

/// The number of a connection's first command, its login.
pub const LOGIN: u64 = 1;

/// The part of a connection that other threads use.
pub struct Control {
    pub id: u64,
    socket: Arc<Socket>,
    /// Incremented at the start and at the end of each command, so it is odd while a command runs.
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

    /// A number that stays the same while one command runs; `None` between commands.
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

    /// Ends the connection when it is next between commands. A running command gets its reply.
    pub fn end_reading(&self) {
        self.hung_up.store(true, Ordering::SeqCst);
        self.socket.end_reading();
    }

    /// Ends the connection at once.
    pub fn cut(&self) {
        self.hung_up.store(true, Ordering::SeqCst);
        self.socket.shutdown(Shutdown::Both);
    }
}

/// For KILL. As in MySQL, the client loses its connection, and the running command gets no reply.
impl HangUp for Control {
    fn hang_up(&self) {
        self.cut();
    }
}

/// All live connections of a server.
#[derive(Default)]
pub struct Connections {
    live: Mutex<HashMap<u64, Arc<Control>>>,
    gone: Condvar,
    /// The end of the server was announced, and nothing has been closed yet.
    ending: AtomicBool,
    draining: AtomicBool,
}

impl Connections {
    /// Registers a new connection under its id, until the returned value is dropped.
    pub fn register(self: &Arc<Self>, id: u64, socket: Arc<Socket>) -> LiveConnection {
        let control = Arc::new(Control::new(id, socket));
        self.live.lock().insert(id, control.clone());
        LiveConnection {
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

    /// Whether load balancers should send no more clients.
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::SeqCst)
    }

    pub fn announce_end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    /// From here on every connection closes as soon as it is between commands and not in a transaction.
    pub fn start_draining(&self) {
        self.announce_end();
        self.draining.store(true, Ordering::SeqCst);
        self.close_idle();
    }

    /// Wakes the connections that wait for a command outside a transaction, and those that are logging in.
    pub fn close_idle(&self) {
        for control in self.list() {
            match control.running() {
                None if !control.in_transaction.load(Ordering::Relaxed) => control.end_reading(),
                Some(LOGIN) => control.cut(),
                _ => {}
            }
        }
    }

    /// Ends all connections and interrupts their running statements.
    pub fn cut_all(&self) {
        for control in self.list() {
            control.interrupt();
            control.cut();
        }
    }

    /// Waits until no connection is left; `false` if some are left after `timeout`.
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

/// A registered connection.
pub struct LiveConnection {
    connections: Arc<Connections>,
    pub control: Arc<Control>,
}

impl Drop for LiveConnection {
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
        let idle_live = connections.register(1, idle.0);
        idle_live.control.end_command(false);
        let busy_live = connections.register(2, busy.0);
        busy_live.control.end_command(false);
        busy_live.control.start_command();
        let login_live = connections.register(3, login.0);
        let open_live = connections.register(4, open.0);
        open_live.control.end_command(true);
        connections.start_draining();
        assert!(idle_live.control.is_hung_up());
        assert!(login_live.control.is_hung_up());
        assert!(!busy_live.control.is_hung_up());
        assert!(!open_live.control.is_hung_up());
        assert!(!connections.wait_until_gone(Duration::from_millis(1)));
        drop((idle_live, busy_live, open_live, login_live));
        assert!(connections.wait_until_gone(Duration::from_millis(1)));
    }

    #[test]
    fn hanging_up_ends_a_blocking_read() {
        let connections = Arc::new(Connections::default());
        let (ours, _theirs) = pair();
        let live_connection = connections.register(5, ours.clone());
        let control = live_connection.control.clone();
        let reader = std::thread::spawn(move || (&*ours).read(&mut [0; 1]).unwrap());
        std::thread::sleep(Duration::from_millis(20));
        control.hang_up();
        assert_eq!(reader.join().unwrap(), 0);
    }

    #[test]
    fn a_command_has_one_number() {
        let connections = Arc::new(Connections::default());
        let live_connection = connections.register(6, pair().0);
        let login = live_connection.control.running();
        assert!(login.is_some());
        live_connection.control.end_command(false);
        assert_eq!(live_connection.control.running(), None);
        live_connection.control.start_command();
        assert!(live_connection.control.running().is_some());
        assert_ne!(live_connection.control.running(), login);
    }
}
