//! A client's socket, TCP or UNIX, as several threads see it: one reads and writes, others may shut it down.

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
    /// Set while a write is under way, which only shutting down both directions can end.
    writing: AtomicBool,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Switches off Nagle's algorithm: an answer is one write, and there is nothing to wait for. Has the system notice
    /// peers that are gone without a word.
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
        // Zero would mean "for ever", which no connection waits.
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

    /// Ends reading: a thread that waits for the client wakes up, one that answers it goes on. A thread stuck in a write
    /// wakes up too, since then the client does not read.
    pub fn end_reading(&self) {
        let how = if self.writing.load(Ordering::SeqCst) {
            Shutdown::Both
        } else {
            Shutdown::Read
        };
        self.shutdown(how);
    }

    /// Writes what there is room for, and waits for nothing.
    ///
    /// # Errors
    /// `WouldBlock`: there is none.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(self, bytes, flags)?)
    }

    pub fn shutdown(&self, how: Shutdown) {
        // Fails only where the client is gone already.
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
