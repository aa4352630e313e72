//! One account or role.

use cluster::meta::record::Record;
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::options::AccountOptions;
use crate::privileges::Privileges;

/// MySQL 8's default.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";

/// User and host.
pub type AccountName = (String, String);

/// One row of `mysql.user`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Case-sensitive; empty for the anonymous account, which matches every user name.
    pub user: String,
    /// A host name, an address, a network (`10.0.0.0/8`, `10.0.0.0/255.0.0.0`) or a LIKE pattern. Lower case.
    pub host: String,
    pub plugin: String,
    /// The plugin's hash of the password; empty for no password.
    pub authentication: String,
    pub locked: bool,
    /// Microseconds since 1970.
    pub password_changed_us: i64,
    pub privileges: Privileges,
    /// Created by CREATE ROLE: no client can log in to it before it gets a password.
    #[serde(default)]
    pub password_expired: bool,
    /// The roles that have been granted to it, in the order of hosts and users.
    #[serde(default)]
    pub roles: Vec<GrantedRole>,
    /// Those that a session has when it begins.
    #[serde(default)]
    pub default_roles: Vec<AccountName>,
    #[serde(default, skip_serializing_if = "AccountOptions::is_default")]
    pub options: AccountOptions,
}

/// A role as one account has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedRole {
    pub name: AccountName,
    /// WITH ADMIN OPTION: the account may grant the role to others.
    pub with_admin: bool,
    /// It is one of `mandatory_roles`, and not granted by a statement. Not stored.
    #[serde(skip)]
    pub mandatory: bool,
}

impl Record for Account {
    /// A reader of format 1 would let clients without a certificate log in, one of format 2 would not know partial
    /// revokes.
    fn format(&self) -> u32 {
        match (&self.options.certificate, self.privileges.restrictions.is_empty()) {
            (_, false) => 3,
            (Some(_), true) => 2,
            (None, true) => 1,
        }
    }
}

/// How SHOW CREATE USER shows a password's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownHash {
    Text,
    /// In hexadecimal digits, if it is one of caching_sha2_password, which holds bytes that no terminal shows
    /// (`@@print_identified_with_as_hex`).
    Hex,
    /// Not at all: who asks may not read accounts.
    Secret,
}

impl Account {
    pub(crate) fn new((user, host): AccountName, now_us: i64) -> Self {
        Self {
            user,
            host,
            plugin: CACHING_SHA2_PASSWORD.to_owned(),
            authentication: String::new(),
            locked: false,
            password_changed_us: now_us,
            privileges: Privileges::default(),
            password_expired: false,
            roles: Vec::new(),
            default_roles: Vec::new(),
            options: AccountOptions::default(),
        }
    }

    /// In place of an account that does not exist.
    pub fn none() -> Self {
        Self {
            locked: true,
            ..Self::new(AccountName::default(), 0)
        }
    }

    pub fn has_password(&self) -> bool {
        !self.authentication.is_empty()
    }

    pub fn has_role(&self, role: &AccountName) -> bool {
        self.roles.iter().any(|granted| granted.name == *role)
    }

    /// `'user'@'host'`, as in error messages.
    pub fn name(&self) -> String {
        quoted_name(&self.user, &self.host)
    }

    /// The result of SHOW CREATE USER: a statement that creates the same account.
    ///
    pub fn create_statement(&self, hash: ShownHash) -> String {
        let hash = match self.authentication.as_str() {
            "" => String::new(),
            _ if hash == ShownHash::Secret => " AS <secret>".to_owned(),
            text if hash == ShownHash::Hex && self.plugin == CACHING_SHA2_PASSWORD => {
                let digits: String = text.chars().map(|c| format!("{:02X}", u32::from(c))).collect();
                format!(" AS 0x{digits}")
            }
            text => format!(" AS '{}'", escaped(text)),
        };
        let roles = match self.default_roles.as_slice() {
            [] => String::new(),
            roles => format!(" DEFAULT ROLE {}", names_in_backticks(roles)),
        };
        format!(
            "CREATE USER {} IDENTIFIED WITH '{}'{hash}{roles} REQUIRE {} PASSWORD EXPIRE{} ACCOUNT {} {}{}",
            name_in_backticks(&self.user, &self.host),
            self.plugin,
            self.options.requirement(),
            match self.options.password_days {
                _ if self.password_expired => String::new(),
                None => " DEFAULT".to_owned(),
                Some(0) => " NEVER".to_owned(),
                Some(days) => format!(" INTERVAL {days} DAY"),
            },
            if self.locked { "LOCK" } else { "UNLOCK" },
            self.options.rules(),
            match &self.options.attribute {
                None => String::new(),
                Some(attribute) => format!(" ATTRIBUTE '{}'", attribute.replace('\'', "\\'")),
            },
        )
    }

    /// Whether its password must be changed before anything else. `default_days`:
    /// `@@default_password_lifetime`; `now_us`: microseconds since 1970.
    pub fn is_expired(&self, default_days: u16, now_us: i64) -> bool {
        self.password_expired
            || (self.has_password()
                && self
                    .options
                    .is_expired(self.password_changed_us, default_days, now_us))
    }

    /// Whether every client can log in to it.
    pub(crate) fn is_open(&self) -> bool {
        !self.has_password() && !self.locked
    }

    /// Fails with 1044 when the account may do nothing in the database.
    pub fn denied_database(&self, database: &str) -> Error {
        Error::new(
            errno::ER_DBACCESS_DENIED_ERROR,
            format!("Access denied for user {} to database '{database}'", self.name()),
        )
    }
}

impl Privileges {
    /// Fails with 1044 when `account`, which has these privileges, may do nothing in the database.
    pub fn check_database(&self, account: &Account, database: &str) -> Result<()> {
        match self.may_enter(database) {
            true => Ok(()),
            false => Err(account.denied_database(database)),
        }
    }
}

/// A text for between single quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{1a}' => out.push_str("\\Z"),
            '\'' | '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// `'user'@'host'`.
pub(crate) fn quoted_name(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

/// `` `user`@`host` ``.
pub fn name_in_backticks(user: &str, host: &str) -> String {
    format!("`{}`@`{}`", user.replace('`', "``"), host.replace('`', "``"))
}

/// The same of several, with commas between.
pub fn names_in_backticks(names: &[AccountName]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|(user, host)| name_in_backticks(user, host))
        .collect();
    names.join(",")
}
