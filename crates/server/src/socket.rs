//! A client's socket, TCP or UNIX, as several threads use it: one reads and writes, others may shut it
//! down.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::net::SendFlags;

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    stream: Kind,
    /// Set while a write runs. Only shutting down both directions ends a blocked write.
    writing: AtomicBool,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Disables Nagle's algorithm, since a reply is one write. Enables keep-alive, so that the system
    /// notices peers that vanish.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        Ok(Self {
            stream: Kind::Tcp(stream),
            writing: AtomicBool::new(false),
        })
    }

    pub fn unix(stream: UnixStream) -> Self {
        Self {
            stream: Kind::Unix(stream),
            writing: AtomicBool::new(false),
        }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self.stream, Kind::Unix(_))
    }

    pub fn peer(&self) -> Option<SocketAddr> {
        match &self.stream {
            Kind::Tcp(stream) => {
                let peer = stream.peer_addr().ok()?;
                Some(SocketAddr::new(peer.ip().to_canonical(), peer.port()))
            }
            Kind::Unix(_) => None,
        }
    }

    pub fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        // Zero would mean no timeout at all.
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        match &self.stream {
            Kind::Tcp(stream) => stream.set_read_timeout(timeout),
            Kind::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        match &self.stream {
            Kind::Tcp(stream) => stream.set_write_timeout(timeout),
            Kind::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Ends reading. A thread that waits for the client wakes up; a thread that is writing a reply wakes up
    /// too, since its client does not read.
    pub fn end_reading(&self) {
        let how = if self.writing.load(Ordering::SeqCst) {
            Shutdown::Both
        } else {
            Shutdown::Read
        };
        self.shutdown(how);
    }

    /// Writes as much as the socket's buffer takes, without waiting.
    ///
    /// # Errors
    /// `WouldBlock`: the buffer is full.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(self, bytes, flags)?)
    }

    pub fn shutdown(&self, how: Shutdown) {
        // Fails only if the client is gone already.
        let _ = match &self.stream {
            Kind::Tcp(stream) => stream.shutdown(how),
            Kind::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Kind::Tcp(stream) => stream.as_fd(),
            Kind::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.stream {
            Kind::Tcp(stream) => (&mut &*stream).read(buffer),
            Kind::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.writing.store(true, Ordering::SeqCst);
        let result = match &self.stream {
            Kind::Tcp(stream) => (&mut &*stream).write(buffer),
            Kind::Unix(stream) => (&mut &*stream).write(buffer),
        };
        self.writing.store(false, Ordering::SeqCst);
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
