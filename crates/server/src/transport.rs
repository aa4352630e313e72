//! Bytes to and from a client: in the clear, or through TLS.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConnection;
use wire::TlsInfo;

use crate::socket::Socket;

/// One connection's bytes. Read by one thread; waits as long as its timeouts say, then fails with `WouldBlock`.
pub struct Transport {
    socket: Arc<Socket>,
    /// Bytes read from the socket before TLS began, which belong to TLS.
    early: Vec<u8>,
    tls: Option<Box<ServerConnection>>,
    read_timeout: Duration,
    write_timeout: Duration,
}

impl Transport {
    pub fn new(socket: Arc<Socket>) -> Self {
        Self {
            socket,
            early: Vec::new(),
            tls: None,
            read_timeout: Duration::ZERO,
            write_timeout: Duration::ZERO,
        }
    }

    pub fn socket(&self) -> &Arc<Socket> {
        &self.socket
    }

    /// How long a read waits. A system call only where it changes.
    pub fn set_read_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        if self.read_timeout != timeout {
            self.socket.set_read_timeout(timeout)?;
            self.read_timeout = timeout;
        }
        Ok(())
    }

    pub fn set_write_timeout(&mut self, timeout: Duration) -> io::Result<()> {
        if self.write_timeout != timeout {
            self.socket.set_write_timeout(timeout)?;
            self.write_timeout = timeout;
        }
        Ok(())
    }

    /// Goes over to TLS; `early` are bytes of the client's that have been read already. The handshake happens with the
    /// first read.
    pub fn start_tls(&mut self, config: Arc<rustls::ServerConfig>, early: Vec<u8>) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        self.tls = Some(Box::new(connection));
        self.early = early;
        Ok(())
    }

    /// Version and cipher suite, once the TLS handshake is over.
    pub fn tls_info(&self) -> Option<TlsInfo> {
        let tls = self.tls.as_deref()?;
        let version = match tls.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let cipher = tls.negotiated_cipher_suite()?.suite().as_str()?.to_owned();
        // As OpenSSL, and so MySQL, writes the names of TLS 1.3.
        Some(TlsInfo {
            version,
            cipher: cipher.replacen("TLS13_", "TLS_", 1),
        })
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Tells a TLS client that this is the end and not an attack; then ends writing.
    pub fn close(&mut self) {
        if let Some(tls) = self.tls.as_deref_mut() {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut &*self.socket);
        }
        self.socket.shutdown(std::net::Shutdown::Write);
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.tls.as_deref_mut() {
            None => (&mut &*self.socket).read(buffer),
            Some(tls) => {
                let mut stream = Early {
                    early: &mut self.early,
                    socket: &self.socket,
                };
                match rustls::Stream::new(tls, &mut stream).read(buffer) {
                    // A client that closes without saying so is gone all the same.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                    result => result,
                }
            }
        }
    }
}

impl Write for Transport {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.tls.as_deref_mut() {
            None => (&mut &*self.socket).write(buffer),
            Some(tls) => {
                let mut stream = Early {
                    early: &mut self.early,
                    socket: &self.socket,
                };
                rustls::Stream::new(tls, &mut stream).write(buffer)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.tls.as_deref_mut() {
            None => Ok(()),
            Some(tls) => {
                let mut stream = Early {
                    early: &mut self.early,
                    socket: &self.socket,
                };
                rustls::Stream::new(tls, &mut stream).flush()
            }
        }
    }
}

/// The socket, behind bytes that were read from it too early.
struct Early<'a> {
    early: &'a mut Vec<u8>,
    socket: &'a Socket,
}

impl Read for Early<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.early.is_empty() {
            return (&mut &*self.socket).read(buffer);
        }
        let count = self.early.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(self.early.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }
}

impl Write for Early<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&mut &*self.socket).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
