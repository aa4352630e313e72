//! Whether a client may use an account, once it is known whether it has proved the password: the account may be
//! locked, blocked after failed logins, ask for TLS or a certificate, or have an expired password.

use types::{Error, Result, errno};
use wire::host::Origin;

use super::exchange::Proof;
use crate::accounts::{Account, TlsRequirement};
use crate::config::Settings;
use crate::shared::Shared;
use crate::transport::Transport;

pub(super) const ER_ACCOUNT_HAS_BEEN_LOCKED: u16 = 3118;

/// A client at the end of its login.
pub(super) struct Admission<'a> {
    pub shared: &'a Shared,
    /// The name that the client gave; the account may be the anonymous user's.
    pub user: &'a str,
    pub origin: Origin,
    /// The way to the client; `None` for the status port's.
    pub transport: Option<&'a Transport>,
    /// Whether the client can be let in with an expired password, to change it.
    pub can_change_password: bool,
}

impl Admission<'_> {
    /// `found`: the account is not a decoy.
    ///
    /// # Errors
    /// MySQL's: 1045, 1862, 3118, 3955.
    pub fn admit(&self, account: &Account, found: bool, proof: Proof) -> Result<()> {
        if let Some(tracking) = account.tracking.filter(|_| found) {
            let noted = self.shared.failed_logins.note(account, tracking, proof.given);
            noted.map_err(|blocked| blocked.error(self.user, &self.origin.host(), tracking))?;
        }
        let is_secure = account.tls.is_met(self.transport);
        if !proof.given || !found || !is_secure {
            return Err(self.access_denied(proof.password_used));
        }
        if account.locked {
            return Err(self.account_locked());
        }
        if account.expired && !self.can_change_password {
            return Err(password_expired());
        }
        Ok(())
    }

    /// Error 1045, as MySQL words it.
    fn access_denied(&self, password_used: bool) -> Error {
        let using = if password_used { "YES" } else { "NO" };
        Error::new(
            errno::ER_ACCESS_DENIED_ERROR,
            format!(
                "Access denied for user '{}'@'{}' (using password: {using})",
                self.user,
                self.origin.host()
            ),
        )
    }

    /// Error 3118, as MySQL words it.
    fn account_locked(&self) -> Error {
        Error::new(
            ER_ACCOUNT_HAS_BEEN_LOCKED,
            format!(
                "Access denied for user '{}'@'{}'. Account is locked.",
                self.user,
                self.origin.host()
            ),
        )
    }
}

/// An account that no client can log in to. A login to a missing account is checked against it.
pub(super) fn decoy(shared: &Shared, settings: &Settings, user: &str) -> Account {
    Account {
        user: user.to_owned(),
        host: "%".to_owned(),
        plugin: settings.default_plugin.to_owned(),
        auth_string: shared.decoy.clone(),
        locked: true,
        tls: TlsRequirement::None,
        administrator: false,
        second_auth_string: String::new(),
        tracking: None,
        expired: false,
    }
}

/// Error 1862, as MySQL words it.
fn password_expired() -> Error {
    const ER_MUST_CHANGE_PASSWORD_LOGIN: u16 = 1862;
    Error::new(
        ER_MUST_CHANGE_PASSWORD_LOGIN,
        "Your password has expired. To log in you must change it using a client that supports expired passwords.",
    )
}
