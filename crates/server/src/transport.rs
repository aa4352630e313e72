//! Bytes to and from a client, with or without TLS.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConnection;
use wire::TlsInfo;

use crate::certificate::CertificateNames;
use crate::socket::Socket;

/// One connection's bytes. One thread reads them. Reads and writes fail with `WouldBlock` after their
/// timeouts.
pub struct Transport {
    socket: Arc<Socket>,
    /// Bytes that were read from the socket before TLS began, and belong to TLS.
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

    /// Sets how long a read waits. Makes a system call only if the value changes.
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

    /// Switches to TLS. `early` are bytes from the client that have already been read. The handshake
    /// happens with the first read.
    pub fn start_tls(&mut self, config: Arc<rustls::ServerConfig>, early: Vec<u8>) -> io::Result<()> {
        let connection = ServerConnection::new(config).map_err(io::Error::other)?;
        self.tls = Some(Box::new(connection));
        self.early = early;
        Ok(())
    }

    /// Version and cipher suite, once the TLS handshake is complete.
    pub fn tls_info(&self) -> Option<TlsInfo> {
        let tls = self.tls.as_deref()?;
        let version = match tls.protocol_version()? {
            rustls::ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
            rustls::ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        };
        let cipher = cipher_name(tls.negotiated_cipher_suite()?.suite().as_str()?);
        Some(TlsInfo { version, cipher })
    }

    /// The names in the certificate that the client has shown. It has been verified.
    pub fn client_names(&self) -> Option<CertificateNames> {
        let shown = self.tls.as_deref()?.peer_certificates()?;
        CertificateNames::of(shown.first()?)
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Ends writing. A TLS client gets a close notification, which shows that the connection was not cut by
    /// an attacker.
    pub fn close(&mut self) {
        if let Some(tls) = self.tls.as_deref_mut() {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut &*self.socket);
        }
        self.socket.shutdown(std::net::Shutdown::Write);
    }
}

/// The name of a cipher suite as OpenSSL, and so MySQL, spells it: `TLS_AES_256_GCM_SHA384` of TLS 1.3, and
/// `ECDHE-RSA-AES256-GCM-SHA384` of TLS 1.2.
fn cipher_name(name: &str) -> String {
    let older = name
        .strip_prefix("TLS_")
        .and_then(|rest| rest.split_once("_WITH_"));
    match older {
        None => name.replacen("TLS13_", "TLS_", 1),
        Some((exchange, cipher)) => format!("{exchange}-{cipher}")
            .replace("AES_", "AES")
            .replace('_', "-")
            .replace("POLY1305-SHA256", "POLY1305"),
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.tls.as_deref_mut() {
            None => (&mut &*self.socket).read(buffer),
            Some(tls) => {
                let mut stream = SocketAfterEarly {
                    early: &mut self.early,
                    socket: &self.socket,
                };
                match rustls::Stream::new(tls, &mut stream).read(buffer) {
                    // A client that closes without a notification has gone, too.
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
                let mut stream = SocketAfterEarly {
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
                let mut stream = SocketAfterEarly {
                    early: &mut self.early,
                    socket: &self.socket,
                };
                rustls::Stream::new(tls, &mut stream).flush()
            }
        }
    }
}

/// The socket, with bytes that were read from it before TLS began.
struct SocketAfterEarly<'a> {
    early: &'a mut Vec<u8>,
    socket: &'a Socket,
}

impl Read for SocketAfterEarly<'_> {
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

impl Write for SocketAfterEarly<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&mut &*self.socket).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cipher_suites_are_named_as_in_openssl() {
        for (name, expected) in [
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            (
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                "ECDHE-RSA-AES256-GCM-SHA384",
            ),
            (
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "ECDHE-ECDSA-CHACHA20-POLY1305",
            ),
        ] {
            assert_eq!(cipher_name(name), expected);
        }
    }
}
