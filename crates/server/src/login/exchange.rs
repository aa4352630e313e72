//! The dialogue between the server's and the client's half of an authentication plugin.

use types::Error;
use wire::auth::{MYSQL_NATIVE_PASSWORD, Nonce, Plugin, native};
use wire::capabilities::capability;
use wire::handshake::{AuthSwitch, MoreData, auth_more_data};

use super::{Login, Refusal};
use crate::accounts::Account;

/// One attempt to prove a password.
pub(super) struct Exchange<'a, 'b> {
    pub login: &'a mut Login<'b>,
    pub account: &'a Account,
    /// The account's.
    pub plugin: Plugin,
    pub nonce: &'a Nonce,
    pub capabilities: u32,
    /// Whether passwords may be sent without encryption of their own.
    pub secure: bool,
}

/// The result of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Proof {
    pub given: bool,
    /// For "using password: YES".
    pub password_used: bool,
}

/// A client's request for the public key, in each plugin that sends passwords.
const CACHING_SHA2_KEY_REQUEST: u8 = 2;
const SHA256_KEY_REQUEST: u8 = 1;

impl Exchange<'_, '_> {
    /// `auth` is the data that `client_plugin` computed from the password. If that is not the account's
    /// plugin, or if the data cannot be relied on (`always_switch`), the client is asked to start again.
    pub fn run(
        &mut self,
        client_plugin: Option<&str>,
        auth: &[u8],
        always_switch: bool,
    ) -> Result<Proof, Refusal> {
        let plugin = self.plugin.name();
        let can_switch = self.capabilities & capability::PLUGIN_AUTH != 0;
        let client_plugin = client_plugin.unwrap_or(MYSQL_NATIVE_PASSWORD);
        let mut auth = auth.to_vec();
        // Some clients start with another plugin than the greeting names (`default-auth`, and libraries
        // older than MySQL 8). They cannot use the greeting's nonce: they send nothing, and wait to be
        // asked.
        let waits = self.plugin == Plugin::Native && auth.is_empty() && can_switch;
        if client_plugin != plugin || always_switch || waits {
            if !can_switch {
                return Err(Refusal::error(old_client(), self.capabilities));
            }
            let nonce = self.nonce;
            self.login.send(self.capabilities, |_, out| {
                AuthSwitch { plugin, nonce }.encode(out)
            })?;
            auth = self.receive()?;
        }
        match self.plugin {
            Plugin::CachingSha2 => self.caching_sha2(&auth),
            Plugin::Sha256 => self.sha256(auth),
            Plugin::Native => Ok(self.native(&auth)),
        }
    }

    fn native(&self, scramble: &[u8]) -> Proof {
        let second = self.account.with_second_password();
        let given = [Some(self.account), second.as_ref()]
            .into_iter()
            .flatten()
            .any(|account| native::verify(&account.auth_string, scramble, self.nonce));
        Proof {
            given,
            password_used: !scramble.is_empty(),
        }
    }

    fn sha256(&mut self, data: Vec<u8>) -> Result<Proof, Refusal> {
        if matches!(data.as_slice(), [] | [0]) {
            return Ok(self.empty_password());
        }
        let password = self.full_password(data, SHA256_KEY_REQUEST)?;
        let given = password.is_some_and(|password| self.proven(&password).is_some());
        Ok(Proof {
            given,
            password_used: true,
        })
    }

    /// What empty data prove, or data of only a terminator.
    fn empty_password(&self) -> Proof {
        Proof {
            given: self.account.auth_string.is_empty(),
            password_used: false,
        }
    }

    /// The account with the one of its passwords that this is.
    fn proven(&self, password: &[u8]) -> Option<Account> {
        let is_password = |account: &Account| self.plugin.verify_password(&account.auth_string, password);
        if is_password(self.account) {
            return Some(self.account.clone());
        }
        self.account.with_second_password().filter(is_password)
    }

    fn caching_sha2(&mut self, scramble: &[u8]) -> Result<Proof, Refusal> {
        if matches!(scramble, [] | [0]) {
            return Ok(self.empty_password());
        }
        if self.account.auth_string.is_empty() {
            return Ok(Proof {
                given: false,
                password_used: true,
            });
        }
        let shared = self.login.shared;
        let second = self.account.with_second_password();
        let mut either = [Some(self.account), second.as_ref()].into_iter().flatten();
        if either.any(|account| shared.digests.verify(account, scramble, self.nonce) == Some(true)) {
            self.more_data(MoreData::FastAuthSuccess)?;
            return Ok(Proof {
                given: true,
                password_used: true,
            });
        }
        // No client has logged in to this account yet, or the password is wrong: the full password is
        // needed.
        self.more_data(MoreData::PerformFullAuthentication)?;
        let packet = self.receive()?;
        let password = self.full_password(packet, CACHING_SHA2_KEY_REQUEST)?;
        let proven = password.and_then(|password| Some((self.proven(&password)?, password)));
        if let Some((account, password)) = &proven {
            shared.digests.insert(account, password);
        }
        Ok(Proof {
            given: proven.is_some(),
            password_used: true,
        })
    }

    /// The password in a packet: unencrypted on a secure connection, otherwise encrypted with the public key. A
    /// client that has not got the key asks for it first, with a packet of one byte.
    fn full_password(&mut self, mut packet: Vec<u8>, key_request: u8) -> Result<Option<Vec<u8>>, Refusal> {
        let asks_for_key = packet == [key_request];
        if self.secure && !asks_for_key {
            return Ok((packet.pop() == Some(0)).then_some(packet));
        }
        let shared = self.login.shared;
        let capabilities = self.capabilities;
        let refuse = |error: Error| Refusal::error(error, capabilities);
        if asks_for_key {
            let pem = shared.rsa.public_pem().map_err(refuse)?;
            self.more_data(MoreData::PublicKey(pem.as_bytes()))?;
            packet = self.receive()?;
        }
        shared.rsa.decrypt_password(&packet, self.nonce).map_err(refuse)
    }

    fn more_data(&mut self, data: MoreData<'_>) -> Result<(), Refusal> {
        self.login
            .send(self.capabilities, |_, out| auth_more_data(data, out))
    }

    fn receive(&mut self) -> Result<Vec<u8>, Refusal> {
        self.login.receive(self.capabilities)?;
        Ok(self.login.channel.input.payload().to_vec())
    }
}

/// Error 1251, as MySQL words it.
fn old_client() -> Error {
    const ER_NOT_SUPPORTED_AUTH_MODE: u16 = 1251;
    Error::new(
        ER_NOT_SUPPORTED_AUTH_MODE,
        "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
    )
}
