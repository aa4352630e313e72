//! Logging in: greeting, response, and the fast paths of both plugins.
//!
//! `caching_sha2_password` needs the password itself, over an encrypted connection, if the server has not
//! cached the account. That happens once per account and server. The `mysql` crate, which supports TLS and
//! RSA, then logs in first, and the fast path works afterwards.

use wire::auth::{CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Nonce, caching_sha2, native};
use wire::capability;
use wire::reader::Reader;
use wire::writer::Writer;

use super::driver::DriverConnection;
use super::over_wire::{PAYLOAD_BYTES_MAX, WireConnection, server_error};
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::target::Target;

const UTF8MB4_GENERAL_CI: u8 = 45;
const FAST_SUCCESS: u8 = 3;
const FULL_AUTHENTICATION: u8 = 4;

enum Outcome {
    LoggedIn,
    /// The server asks for the password itself.
    PasswordWanted,
}

/// Connects, logs in and selects the target's database.
pub(super) fn open(target: &Target) -> Result<WireConnection> {
    let (connection, outcome) = attempt(target)?;
    match outcome {
        Outcome::LoggedIn => Ok(connection),
        Outcome::PasswordWanted => {
            drop(connection);
            warm(target)?;
            match attempt(target)? {
                (connection, Outcome::LoggedIn) => Ok(connection),
                _ => Err(Error::Protocol(
                    "it requests the password on every login: the account is not cached".to_owned(),
                )),
            }
        }
    }
}

/// Logs in once through the driver, which can encrypt the password, so that the server caches the account.
fn warm(target: &Target) -> Result<()> {
    DriverConnection::open(target).map(drop)
}

fn attempt(target: &Target) -> Result<(WireConnection, Outcome)> {
    let stream = match target.socket() {
        Some(path) => std::os::unix::net::UnixStream::connect(path).map(Stream::Unix),
        None => Stream::tcp(&target.host(), target.port()),
    }
    .map_err(|source| Error::Connect {
        address: target.address(),
        source,
    })?;
    let mut connection = WireConnection::over(stream, target.text_protocol);
    let greeting = Greeting::decode(connection.packet()?)?;
    connection.capabilities = greeting.capabilities & wanted(target);
    connection.server_version = greeting.version;
    connection.connection_id = greeting.connection_id;
    let capabilities = connection.capabilities;
    let auth = proof(&greeting.plugin, target.password(), &greeting.nonce).unwrap_or_default();
    connection.reply(|out| {
        out.put_u32(capabilities);
        out.put_u32(PAYLOAD_BYTES_MAX as u32);
        out.put_u8(UTF8MB4_GENERAL_CI);
        out.put_zeros(23);
        out.put_nul_bytes(target.user().as_bytes());
        out.put_lenenc_bytes(&auth);
        if capabilities & capability::CONNECT_WITH_DB != 0 {
            out.put_nul_bytes(target.database().as_bytes());
        }
        out.put_nul_bytes(greeting.plugin.as_bytes());
    })?;
    let outcome = connection.authenticate(target)?;
    Ok((connection, outcome))
}

fn wanted(target: &Target) -> u32 {
    let with_database = if target.database().is_empty() {
        0
    } else {
        capability::CONNECT_WITH_DB
    };
    // FOUND_ROWS: an update that finds its row counts, even if it changes nothing.
    capability::LONG_PASSWORD
        | capability::FOUND_ROWS
        | capability::LONG_FLAG
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | capability::MULTI_RESULTS
        | capability::PLUGIN_AUTH
        | capability::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | capability::DEPRECATE_EOF
        | with_database
}

/// The proof of a password for a nonce; `None` for an unknown plugin.
fn proof(plugin: &str, password: &str, nonce: &Nonce) -> Option<Vec<u8>> {
    match plugin {
        CACHING_SHA2_PASSWORD => Some(caching_sha2::scramble(password.as_bytes(), nonce)),
        MYSQL_NATIVE_PASSWORD => Some(native::scramble(password.as_bytes(), nonce)),
        _ => None,
    }
}

impl WireConnection {
    fn reply(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.output.set_sequence(self.input.sequence());
        self.output.push_with(write);
        self.send()
    }

    fn authenticate(&mut self, target: &Target) -> Result<Outcome> {
        loop {
            let capabilities = self.capabilities;
            let payload = self.receive()?;
            let mut reader = Reader::new(payload);
            match reader.u8()? {
                0x00 => return Ok(Outcome::LoggedIn),
                0xff => return Err(server_error(payload, capabilities)),
                0xfe => {
                    let plugin = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
                    let nonce = nonce(reader.rest())?;
                    let answer = proof(&plugin, target.password(), &nonce)
                        .ok_or_else(|| Error::Protocol(format!("it requests the authentication plugin {plugin}, which is not supported; use --client driver")))?;
                    self.reply(|out| out.put_bytes(&answer))?;
                }
                0x01 => match reader.rest() {
                    [FAST_SUCCESS] => {}
                    [FULL_AUTHENTICATION] => return Ok(Outcome::PasswordWanted),
                    _ => return Err(Error::Protocol("unknown step of a login".to_owned())),
                },
                _ => return Err(Error::Protocol("unknown step of a login".to_owned())),
            }
        }
    }
}

/// The first 20 bytes; a zero byte may follow.
fn nonce(bytes: &[u8]) -> Result<Nonce> {
    bytes
        .first_chunk::<20>()
        .map(|bytes| Nonce::from_bytes(*bytes))
        .ok_or_else(|| Error::Protocol("a nonce of less than 20 bytes".to_owned()))
}

struct Greeting {
    version: String,
    connection_id: u32,
    nonce: Nonce,
    capabilities: u32,
    plugin: String,
}

impl Greeting {
    fn decode(payload: &[u8]) -> Result<Self> {
        const VERSION: u8 = 10;
        let mut reader = Reader::new(payload);
        if reader.u8()? != VERSION {
            return Err(Error::Protocol(
                "the first packet is not a MySQL greeting".to_owned(),
            ));
        }
        let version = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
        let connection_id = reader.u32()?;
        let mut bytes = reader.bytes(8)?.to_vec();
        reader.u8()?;
        let lower = u32::from(reader.u16()?);
        reader.u8()?;
        reader.u16()?;
        let capabilities = lower | u32::from(reader.u16()?) << 16;
        let length = usize::from(reader.u8()?);
        reader.bytes(10)?;
        bytes.extend_from_slice(reader.bytes(length.saturating_sub(8).max(13))?);
        let plugin = String::from_utf8_lossy(reader.nul_bytes_or_rest()).into_owned();
        Ok(Self {
            version,
            connection_id,
            nonce: nonce(&bytes)?,
            capabilities,
            plugin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_our_servers_greeting() {
        let nonce = Nonce::from_bytes(*b"abcdefghijklmnopqrst");
        let mut payload = Vec::new();
        wire::handshake::Greeting {
            version: "8.0.33-x",
            connection_id: 11,
            nonce: &nonce,
            capabilities: 0xc1ff_f7ff,
            collation: 255,
            status: 2,
            plugin: CACHING_SHA2_PASSWORD,
        }
        .encode(&mut payload);
        let greeting = Greeting::decode(&payload).unwrap();
        assert_eq!(
            (greeting.version.as_str(), greeting.connection_id),
            ("8.0.33-x", 11)
        );
        assert_eq!(greeting.nonce, nonce);
        assert_eq!(greeting.capabilities, 0xc1ff_f7ff);
        assert_eq!(greeting.plugin, CACHING_SHA2_PASSWORD);
        for end in 0..payload.len() - 22 {
            assert!(Greeting::decode(&payload[..end]).is_err(), "{end}");
        }
        assert!(Greeting::decode(b"HTTP/1.1 400 Bad Request\r\n").is_err());
    }
}
