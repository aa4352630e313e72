//! A client that sends arbitrary packets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::Address;

const CLIENT_LONG_PASSWORD: u32 = 1;
const CLIENT_PROTOCOL_41: u32 = 1 << 9;
const CLIENT_TRANSACTIONS: u32 = 1 << 13;
const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;
const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;
const UTF8MB4_GENERAL_CI: u8 = 45;

pub struct Raw {
    pub stream: TcpStream,
    /// The number of the next packet in either direction.
    pub sequence: u8,
}

/// The first packet of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Ok,
    Error {
        code: u16,
        state: String,
    },
    Other(Vec<u8>),
    /// The server closed the connection instead of replying.
    Closed,
}

impl Raw {
    /// Connects without logging in.
    pub fn open(address: &Address) -> io::Result<Self> {
        let stream = TcpStream::connect((address.host.as_str(), address.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        stream.set_write_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self { stream, sequence: 0 })
    }

    /// Connects and logs in as root without a password.
    pub fn login(address: &Address) -> io::Result<Self> {
        Self::login_with(address, 0)
    }

    /// [`Raw::login`], with more capabilities.
    pub fn login_with(address: &Address, capabilities: u32) -> io::Result<Self> {
        match Self::log_in(address, capabilities, UTF8MB4_GENERAL_CI)? {
            (raw, Answer::Ok) => Ok(raw),
            (_, other) => Err(io::Error::other(format!("login: {other:?}"))),
        }
    }

    /// [`Raw::login`] with a collation, given by number. Returns the server's last packet of the login.
    pub fn log_in(address: &Address, capabilities: u32, collation: u8) -> io::Result<(Self, Answer)> {
        Self::log_in_as(address, "root", (capabilities, collation))
    }

    /// [`Raw::login_with`] of another account without a password.
    pub fn login_as(address: &Address, user: &str, capabilities: u32) -> io::Result<Self> {
        match Self::log_in_as(address, user, (capabilities, UTF8MB4_GENERAL_CI))? {
            (raw, Answer::Ok) => Ok(raw),
            (_, other) => Err(io::Error::other(format!("login: {other:?}"))),
        }
    }

    fn log_in_as(
        address: &Address,
        user: &str,
        (capabilities, collation): (u32, u8),
    ) -> io::Result<(Self, Answer)> {
        let mut raw = Self::open(address)?;
        raw.read()?;
        let flags = capabilities
            | CLIENT_LONG_PASSWORD
            | CLIENT_PROTOCOL_41
            | CLIENT_TRANSACTIONS
            | CLIENT_SECURE_CONNECTION
            | CLIENT_PLUGIN_AUTH;
        let mut response = flags.to_le_bytes().to_vec();
        response.extend(0x0100_0000_u32.to_le_bytes());
        response.push(collation);
        response.extend([0; 23]);
        response.extend(user.as_bytes());
        response.extend(b"\0\0caching_sha2_password\0");
        raw.write(&response)?;
        loop {
            match raw.answer()? {
                // The server requests another authentication method. In all of them, an empty password has
                // empty data.
                Answer::Other(packet) if packet.first() == Some(&0xfe) => raw.write(&[])?,
                Answer::Other(_) => {}
                other => return Ok((raw, other)),
            }
        }
    }

    /// One packet without headers. Packets of more than 16 MiB are joined.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut payload = Vec::new();
        loop {
            let mut header = [0; 4];
            self.stream.read_exact(&mut header)?;
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            self.sequence = header[3].wrapping_add(1);
            let start = payload.len();
            payload.resize(start + length, 0);
            self.stream.read_exact(&mut payload[start..])?;
            if length < 0xff_ffff {
                return Ok(payload);
            }
        }
    }

    /// One packet of less than 16 MiB.
    pub fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(&packet)?;
        self.stream.write_all(payload)?;
        self.stream.flush()
    }

    /// Sends a command and reads the first packet of its reply.
    pub fn command(&mut self, payload: &[u8]) -> io::Result<Answer> {
        self.sequence = 0;
        self.write(payload)?;
        self.answer()
    }

    pub fn answer(&mut self) -> io::Result<Answer> {
        let packet = match self.read() {
            Ok(packet) => packet,
            Err(e) if closed(&e) => return Ok(Answer::Closed),
            Err(e) => return Err(e),
        };
        Ok(match packet.split_first() {
            Some((0x00, _)) => Answer::Ok,
            Some((0xff, rest)) if rest.len() >= 2 => Answer::Error {
                code: u16::from_le_bytes([rest[0], rest[1]]),
                state: match rest.get(2) {
                    Some(b'#') => String::from_utf8_lossy(&rest[3..rest.len().min(8)]).into_owned(),
                    _ => String::new(),
                },
            },
            _ => Answer::Other(packet),
        })
    }
}

/// Whether the other side has closed the connection.
pub fn closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}
