//! Logging in: from the first byte of a connection to the client's identity. COM_CHANGE_USER repeats that
//! on an open connection.
//!
//! Greeting, TLS and the client's response are here. The dialogue of the authentication plugins is in
//! [`exchange`], what an account asks for beside the password in [`admission`].

mod admission;
mod exchange;
mod password;

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use types::{Error, Result, errno};
use wire::auth::{Nonce, Plugin};
use wire::capabilities::capability;
use wire::compression::Algorithm;
use wire::handshake::{ChangeUser, Greeting, Response, decode_response};
use wire::host::Origin;
use wire::status;
use wire::{ClientInfo, PacketSink};

use crate::accounts::{Account, best_match};
use crate::channel::Channel;
use crate::config::Settings;
use crate::receive::{ReceiveError, Received};
use crate::shared::Shared;

use admission::{Admission, decoy};
use exchange::Exchange;
pub use password::log_in_with_password;

/// Why a login is refused. Without an error the connection closes silently, since the client is gone.
#[derive(Debug)]
pub struct Refusal {
    pub error: Option<Error>,
    /// Which parts of an error packet the client can read.
    pub capabilities: u32,
}

impl Refusal {
    /// Whether the account is locked.
    pub fn is_of_locked_account(&self) -> bool {
        let error = self.error.as_ref();
        error.is_some_and(|error| error.code == admission::ER_ACCOUNT_HAS_BEEN_LOCKED)
    }

    fn gone(capabilities: u32) -> Self {
        Self {
            error: None,
            capabilities,
        }
    }

    fn error(error: Error, capabilities: u32) -> Self {
        Self {
            error: Some(error),
            capabilities,
        }
    }
}

/// A client that has logged in.
pub struct LoggedIn {
    pub client: ClientInfo,
    /// What the greeting had.
    pub nonce: Nonce,
    pub account: Account,
    /// Starts once the reply to the login has been sent.
    pub compression: Option<Algorithm>,
}

/// A login in progress, and its deadline.
pub struct Login<'a> {
    pub shared: &'a Shared,
    pub channel: &'a mut Channel,
    pub settings: Settings,
    pub origin: Origin,
    pub peer: Option<SocketAddr>,
    pub deadline: Instant,
}

/// What a client sends about itself, in a handshake response or in COM_CHANGE_USER.
struct Presented {
    user: String,
    auth: Vec<u8>,
    plugin: Option<String>,
    capabilities: u32,
}

impl Login<'_> {
    /// The connection phase, without the OK packet that ends it.
    pub fn run(mut self, connection_id: u64) -> std::result::Result<LoggedIn, Refusal> {
        let offered = self.offered_capabilities();
        let nonce = new_nonce(0)?;
        self.send(0, |settings, out| {
            Greeting {
                version: &settings.version,
                connection_id: connection_id as u32,
                nonce: &nonce,
                capabilities: offered,
                collation: settings.collation,
                status: status::AUTOCOMMIT,
                plugin: settings.default_plugin,
            }
            .encode(out);
        })?;
        let response = self.response()?;
        let capabilities = response.capabilities & offered;
        if self.settings.require_secure_transport && !self.is_secure() {
            return Err(Refusal::error(secure_transport_required(), capabilities));
        }
        let presented = Presented {
            user: response.user,
            auth: response.auth,
            plugin: response.plugin,
            capabilities,
        };
        let account = self.authenticate(&presented, &nonce, false)?;
        let compression = compression_of(capabilities, response.zstd_level);
        let client = ClientInfo {
            user: presented.user,
            host: self.origin.host(),
            account: format!("{}@{}", account.user, account.host),
            database: response.database,
            capabilities,
            collation: response.collation,
            attributes: response.attributes,
            peer: self.peer,
            tls: self.channel.transport.tls_info(),
            compression: compression.map(Algorithm::name),
        };
        Ok(LoggedIn {
            client,
            nonce,
            account,
            compression,
        })
    }

    /// COM_CHANGE_USER: authenticates another user on the connection of `before`.
    ///
    /// The data that the client sends with the command prove its password for the nonce of the greeting.
    /// The client is asked again, with a new nonce. One that knows no plugins cannot be asked.
    pub fn change_user(
        mut self,
        request: ChangeUser,
        before: &ClientInfo,
        of_greeting: &Nonce,
    ) -> std::result::Result<ClientInfo, Refusal> {
        let knows_plugins = before.capabilities & capability::PLUGIN_AUTH != 0;
        let nonce = match knows_plugins {
            true => new_nonce(before.capabilities)?,
            false => of_greeting.clone(),
        };
        let presented = Presented {
            user: request.user,
            auth: request.auth,
            plugin: request.plugin,
            capabilities: before.capabilities,
        };
        let account = self.authenticate(&presented, &nonce, knows_plugins)?;
        Ok(ClientInfo {
            user: presented.user,
            account: format!("{}@{}", account.user, account.host),
            database: request.database,
            collation: request.collation.unwrap_or(before.collation),
            attributes: request.attributes,
            ..before.clone()
        })
    }

    fn offered_capabilities(&self) -> u32 {
        let without = if self.shared.tls.is_some() {
            0
        } else {
            capability::SSL
        };
        capability::SERVER & !without
    }

    /// Whether the connection cannot be listened in on.
    fn is_secure(&self) -> bool {
        self.channel.transport.is_tls() || self.origin == Origin::Socket
    }

    /// Reads the client's response, over TLS if the client asks for that.
    fn response(&mut self) -> std::result::Result<Response, Refusal> {
        self.receive(0)?;
        match decode_response(self.channel.input.payload()) {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(_)) => {}
            Err(error) => return Err(Refusal::error(error, capability::PROTOCOL_41)),
        }
        let Some(tls) = &self.shared.tls else {
            return Err(Refusal::error(
                wire::handshake::bad_handshake(),
                capability::PROTOCOL_41,
            ));
        };
        self.shared.metrics.tls_accepts.inc();
        let early = self.channel.input.take_pending();
        self.channel
            .transport
            .start_tls(tls.clone(), early)
            .map_err(|_| Refusal::gone(0))?;
        self.receive(capability::PROTOCOL_41)?;
        self.shared.metrics.tls_finished.inc();
        match decode_response(self.channel.input.payload()) {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(_)) => Err(Refusal::error(
                wire::handshake::bad_handshake(),
                capability::PROTOCOL_41,
            )),
            Err(error) => Err(Refusal::error(error, capability::PROTOCOL_41)),
        }
    }

    /// Finds the account and runs its plugin.
    fn authenticate(
        &mut self,
        presented: &Presented,
        nonce: &Nonce,
        always_switch: bool,
    ) -> std::result::Result<Account, Refusal> {
        let capabilities = presented.capabilities;
        let candidates = self.shared.sessions.accounts(&presented.user);
        let found = best_match(&candidates, &presented.user, self.origin);
        let account = found
            .cloned()
            .unwrap_or_else(|| decoy(self.shared, &self.settings, &presented.user));
        let Some(plugin) = Plugin::named(&account.plugin) else {
            let error = Error::new(
                errno::ER_PLUGIN_IS_NOT_LOADED,
                format!("Plugin '{}' is not loaded", account.plugin),
            );
            return Err(Refusal::error(error, capabilities));
        };
        let secure = self.is_secure();
        let mut exchange = Exchange {
            login: self,
            account: &account,
            plugin,
            nonce,
            capabilities,
            secure,
        };
        let proof = exchange.run(presented.plugin.as_deref(), &presented.auth, always_switch)?;
        let admission = Admission {
            shared: self.shared,
            user: &presented.user,
            origin: self.origin,
            transport: Some(&self.channel.transport),
            can_change_password: capabilities & capability::CAN_HANDLE_EXPIRED_PASSWORDS != 0,
        };
        admission
            .admit(&account, found.is_some(), proof)
            .map_err(|error| Refusal::error(error, capabilities))?;
        Ok(account)
    }

    fn send(
        &mut self,
        capabilities: u32,
        write: impl Fn(&Settings, &mut Vec<u8>),
    ) -> std::result::Result<(), Refusal> {
        let settings = &self.settings;
        let mut sink = self.channel.sink();
        sink.send_with(&mut |out| write(settings, out))
            .and_then(|()| sink.flush())
            .map_err(|_: io::Error| Refusal::gone(capabilities))?;
        self.channel.expect_reply();
        Ok(())
    }

    /// Waits for the client's next packet, until the deadline.
    fn receive(&mut self, capabilities: u32) -> std::result::Result<(), Refusal> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.channel
            .transport
            .set_read_timeout(left)
            .map_err(|_| Refusal::gone(capabilities))?;
        match self.channel.receive(left) {
            Ok(Received::Packet) => Ok(()),
            Ok(Received::Idle) => Err(Refusal::error(
                wire::handshake::bad_handshake(),
                capabilities | capability::PROTOCOL_41,
            )),
            Ok(Received::Closed) => Err(Refusal::gone(capabilities)),
            Err(ReceiveError::Protocol(error)) => {
                let error = if wire::proxy::looks_like_header(self.channel.input.pending()) {
                    unexpected_proxy_header()
                } else {
                    error
                };
                Err(Refusal::error(error, capabilities | capability::PROTOCOL_41))
            }
            Err(ReceiveError::Io(error)) => {
                tracing::debug!("login: {error}");
                Err(Refusal::gone(capabilities))
            }
        }
    }
}

fn new_nonce(capabilities: u32) -> std::result::Result<Nonce, Refusal> {
    Nonce::generate().map_err(|error| {
        Refusal::error(
            Error::internal(format_args!("the system gives no random numbers: {error}")),
            capabilities,
        )
    })
}

fn compression_of(capabilities: u32, zstd_level: Option<u8>) -> Option<Algorithm> {
    const ZSTD_LEVEL_DEFAULT: u8 = 3;
    if capabilities & capability::COMPRESS != 0 {
        Some(Algorithm::Zlib)
    } else if capabilities & capability::ZSTD_COMPRESSION_ALGORITHM != 0 {
        let level = zstd_level
            .filter(|level| (1..=22).contains(level))
            .unwrap_or(ZSTD_LEVEL_DEFAULT);
        Some(Algorithm::Zstd {
            level: i32::from(level),
        })
    } else {
        None
    }
}

/// Error 3159, as MySQL words it.
fn secure_transport_required() -> Error {
    const ER_SECURE_TRANSPORT_REQUIRED: u16 = 3159;
    Error::new(
        ER_SECURE_TRANSPORT_REQUIRED,
        "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
    )
}

fn unexpected_proxy_header() -> Error {
    Error::new(
        errno::ER_UNKNOWN_ERROR,
        "PROXY protocol header from an address that is not in the configuration's [proxy_protocol] networks",
    )
}

/// Reads a PROXY protocol header, which must come first on the connection. Returns the client's address, or
/// `None` if the connection is the balancer's own.
pub fn read_proxy_header(
    channel: &mut Channel,
    deadline: Instant,
) -> Result<Option<SocketAddr>, ReceiveError> {
    use std::io::Read;
    use wire::proxy::{Parsed, ProxiedPeer, parse};

    let mut bytes = Vec::new();
    loop {
        match parse(&bytes)? {
            Parsed::Complete(ProxiedPeer::Address(peer), _) => return Ok(Some(peer)),
            Parsed::Complete(ProxiedPeer::Local | ProxiedPeer::Unknown, _) => return Ok(None),
            Parsed::Incomplete(needed) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(wire::handshake::bad_handshake().into());
                }
                channel.transport.set_read_timeout(left)?;
                // Reads exactly the header: the bytes after it are the client's.
                let start = bytes.len();
                bytes.resize(needed, 0);
                let count = channel
                    .transport
                    .read(bytes.get_mut(start..).unwrap_or_default())?;
                if count == 0 {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                bytes.truncate(start + count);
            }
        }
    }
}
