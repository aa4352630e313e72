//! The listening sockets, and the thread that accepts connections on all of them.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use wire::PacketSink;

use crate::channel::Channel;
use crate::connection::{self, too_many_connections};
use crate::input::Input;
use crate::output::Output;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::status_port::StatusPort;
use crate::transport::Transport;

/// Connections that the system completes before they are accepted: logins often come in bursts.
const BACKLOG: i32 = 1024;

/// One listening socket.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
    Status(TcpListener),
}

impl Listener {
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::Tcp(bind(address)?))
    }

    pub fn status(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::Status(bind(address)?))
    }

    /// Replaces a socket file that an earlier server has left behind. Fails if a running server listens on
    /// it.
    pub fn unix(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.file_type().is_socket() => {
                if UnixStream::connect(path).is_ok() {
                    return Err(io::Error::new(
                        ErrorKind::AddrInUse,
                        "another server listens on it",
                    ));
                }
                fs::remove_file(path)?;
            }
            Ok(_) => {
                return Err(io::Error::new(
                    ErrorKind::AlreadyExists,
                    "there is a file that is not a socket",
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        // As in MySQL: accounts decide about logins, not the file's permissions.
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    pub fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) | Self::Status(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) | Self::Status(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // The file may be gone already.
            let _ = fs::remove_file(path);
        }
    }
}

/// Ends [`accept`] from another thread.
pub struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub fn wake(&self) {
        // Fails only if the counter would pass 2^64.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Accepts connections until woken.
pub fn accept(shared: &Arc<Shared>, status_port: &Arc<StatusPort>, listeners: &[Listener], waker: &Waker) {
    loop {
        let mut fds: Vec<PollFd<'_>> = listeners.iter().map(|l| PollFd::new(l, PollFlags::IN)).collect();
        fds.push(PollFd::new(&waker.0, PollFlags::IN));
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => {
                tracing::error!("waiting for connections: {error}");
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if ready.last() == Some(&true) {
            return;
        }
        for (listener, ready) in listeners.iter().zip(ready) {
            if ready {
                accept_all(shared, status_port, listener);
            }
        }
    }
}

fn accept_all(shared: &Arc<Shared>, status_port: &Arc<StatusPort>, listener: &Listener) {
    loop {
        let accepted = match listener {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| Socket::tcp(stream)),
            Listener::Unix(listener, _) => listener.accept().map(|(stream, _)| Socket::unix(stream)),
            Listener::Status(listener) => match listener.accept() {
                Ok((stream, _)) => {
                    status_port.accept(stream);
                    continue;
                }
                Err(error) => Err(error),
            },
        };
        match accepted {
            Ok(socket) => serve(shared, Arc::new(socket)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // The client was gone before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionAborted | ErrorKind::NotConnected
                ) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // Most likely there are no free file descriptors. Some may be free again in a moment.
                tracing::error!("accepting a connection: {error}");
                std::thread::sleep(Duration::from_millis(50));
                return;
            }
        }
    }
}

fn serve(shared: &Arc<Shared>, socket: Arc<Socket>) {
    // One connection beyond the limit may log in: it may be an administrator's.
    if shared.connections.count() > shared.sessions.settings().max_connections {
        shared.metrics.aborted_logins.inc();
        shared.metrics.refused.inc();
        refuse(shared, &socket, &too_many_connections());
        return;
    }
    let shared_too = shared.clone();
    let socket_too = socket.clone();
    if let Err(error) = shared
        .workers
        .run(move || connection::start(shared_too, socket_too))
    {
        const ER_CANT_CREATE_THREAD: u16 = 1135;
        tracing::error!("no thread for a connection: {error}");
        let code = error.raw_os_error().unwrap_or_default();
        let message = format!(
            "Can't create a new thread (errno {code}); if you are not out of available memory, you can consult the \
             manual for a possible OS-dependent bug"
        );
        refuse(
            shared,
            &socket,
            &types::Error::new(ER_CANT_CREATE_THREAD, message),
        );
    }
}

/// Sends an error in place of the greeting, without waiting for the client.
fn refuse(shared: &Shared, socket: &Arc<Socket>, error: &types::Error) {
    let metrics = &shared.metrics;
    let mut channel = Channel::new(
        Transport::new(socket.clone()),
        Input::new(0, metrics.bytes_received.clone(), shared.config.memory),
        Output::new(metrics.bytes_sent.clone()),
    );
    let mut sink = channel.sink();
    let sent = sink
        .send_with(&mut |out| wire::err::encode(error, 0, None, out))
        .and_then(|()| sink.flush());
    if sent.is_ok() {
        channel.transport.close();
    }
}
