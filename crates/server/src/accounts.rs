//! Accounts: which account a client may log in to, by its user name and its origin.
//!
//! Not here: where accounts are stored ([`crate::Sessions::accounts`] returns them), and how a client
//! proves its password (`crate::login`).

use wire::host::{Origin, host_specificity};

use crate::transport::Transport;

/// The part of an account that the login needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Empty for the anonymous user.
    pub user: String,
    /// A host name, an address, a network, or a pattern with `%` and `_`.
    pub host: String,
    /// The name of a [`wire::auth::Plugin`]; another one refuses the login.
    pub plugin: String,
    /// The plugin's stored form of the password; empty for no password.
    pub auth_string: String,
    pub locked: bool,
    /// REQUIRE.
    pub tls: TlsRequirement,
    /// The stored form of the account's second password; empty for none.
    pub second_auth_string: String,
    /// Where failed logins are counted.
    pub tracking: Option<LoginTracking>,
    /// The password has expired, and a client that cannot change it is refused.
    pub expired: bool,
    /// May use the one connection beyond `max_connections`.
    pub administrator: bool,
}

/// What an account asks of the way to its client (manual 13.7.1.3, "CREATE USER SSL/TLS Options").
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TlsRequirement {
    #[default]
    None,
    Tls,
    /// A certificate that the server's `client_ca` has signed.
    Certificate(CertificateRequirement),
}

/// What a client's certificate has to say; what is empty may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateRequirement {
    pub cipher: String,
    pub issuer: String,
    pub subject: String,
}

impl TlsRequirement {
    /// `transport`: the way to the client; `None` for the status port's.
    pub(crate) fn is_met(&self, transport: Option<&Transport>) -> bool {
        match self {
            Self::None => true,
            Self::Tls => transport.is_some_and(Transport::is_tls),
            Self::Certificate(required) => {
                let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
                let tls = transport.and_then(|transport| transport.tls_info().zip(transport.client_names()));
                tls.is_some_and(|(info, names)| {
                    fits(&required.cipher, &info.cipher)
                        && fits(&required.issuer, &names.issuer)
                        && fits(&required.subject, &names.subject)
                })
            }
        }
    }
}

/// FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginTracking {
    pub attempts: u32,
    /// `None`: until the account is unlocked.
    pub lock_days: Option<u32>,
    /// Logins before it do not count. Microseconds since 1970.
    pub since_us: i64,
}

impl Account {
    /// The same with its second password, if it has one.
    pub fn with_second_password(&self) -> Option<Self> {
        (!self.second_auth_string.is_empty()).then(|| Self {
            auth_string: self.second_auth_string.clone(),
            ..self.clone()
        })
    }

    /// The form used in messages.
    pub fn quoted(&self) -> String {
        format!("'{}'@'{}'", self.user, self.host)
    }
}

/// The account that a client gets: of all accounts whose host matches, the one with the most specific host.
/// If two hosts are equally specific, a named user precedes the anonymous one.
///
/// Source: MySQL 8.0 manual, 6.2.6 "Access Control, Stage 1: Connection Verification".
pub fn best_match<'a>(accounts: &'a [Account], user: &str, origin: Origin) -> Option<&'a Account> {
    accounts
        .iter()
        .filter(|account| account.user == user || account.user.is_empty())
        .filter_map(|account| {
            let specificity = host_specificity(&account.host, origin)?;
            Some(((specificity, !account.user.is_empty()), account))
        })
        .max_by(|(a, _), (b, _)| a.cmp(b))
        .map(|(_, account)| account)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, host: &str) -> Account {
        Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: wire::auth::CACHING_SHA2_PASSWORD.to_owned(),
            auth_string: String::new(),
            locked: false,
            tls: TlsRequirement::None,
            administrator: false,
            second_auth_string: String::new(),
            tracking: None,
            expired: false,
        }
    }

    fn chosen(accounts: &[Account], user: &str, origin: Origin) -> Option<String> {
        best_match(accounts, user, origin).map(Account::quoted)
    }

    #[test]
    fn the_most_specific_host_wins() {
        let accounts = [
            account("app", "%"),
            account("app", "192.0.2.%"),
            account("app", "198.51.%"),
            account("app", ""),
            account("app", "192.0.2.7"),
            account("app", "192.0.0.0/16"),
            account("", "192.0.2.8"),
            account("app", "localhost"),
        ];
        let from = |ip: &str| chosen(&accounts, "app", Origin::Address(ip.parse().unwrap())).unwrap();
        assert_eq!(from("192.0.2.7"), "'app'@'192.0.2.7'");
        assert_eq!(from("192.0.2.8"), "''@'192.0.2.8'");
        // A network precedes a pattern of any length.
        assert_eq!(from("192.0.2.9"), "'app'@'192.0.0.0/16'");
        assert_eq!(from("198.51.100.9"), "'app'@'198.51.%'");
        assert_eq!(from("203.0.113.9"), "'app'@'%'");
        assert_eq!(from("127.0.0.1"), "'app'@'localhost'");
        assert_eq!(from("::1"), "'app'@'localhost'");
        assert_eq!(
            chosen(&accounts, "app", Origin::Socket).unwrap(),
            "'app'@'localhost'"
        );
    }

    #[test]
    fn no_account_of_that_name_or_host() {
        let accounts = [account("app", "localhost")];
        assert_eq!(chosen(&accounts, "other", Origin::Socket), None);
        assert_eq!(
            chosen(&accounts, "app", Origin::Address("192.0.2.7".parse().unwrap())),
            None
        );
    }
}
