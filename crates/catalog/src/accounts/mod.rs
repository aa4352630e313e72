//! Accounts: who may connect, from where, and what for. Stored under `m` keys; in memory as one immutable [`Accounts`].
//!
//! # What an account may do
//!
//! As in MySQL a new account may connect and nothing more. Privileges come in two sizes: ALL on everything (`*.*`, with
//! or without GRANT OPTION) and ALL on one database (`db.*`). Everything finer is not supported yet and refused with
//! 1235, never accepted and ignored. `root@localhost` has everything, and no password until it is given one.
//!
//! Not here: passwords, and which account a client gets (`server::accounts`). Callers bring finished authentication
//! strings, and check them ([`Account::authentication`]). Statements that change accounts: [`change`].

pub mod change;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::Catalog;

/// MySQL 8's default.
pub const CACHING_SHA2_PASSWORD: &str = "caching_sha2_password";
pub const MYSQL_NATIVE_PASSWORD: &str = "mysql_native_password";

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
}

/// What an account has been granted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Privileges {
    /// ALL PRIVILEGES ON *.*
    pub everything: bool,
    /// WITH GRANT OPTION on *.*: may create accounts and grant.
    pub grant_option: bool,
    /// ALL PRIVILEGES ON each of them.
    pub databases: BTreeSet<String>,
}

impl Account {
    /// Whether the account may read and write tables of a database, and change its definitions.
    ///
    /// `information_schema` and `performance_schema` are open to all: they show no more than the account may see.
    pub fn may_use(&self, database: &str) -> bool {
        self.privileges.everything
            || self.privileges.databases.contains(database)
            || database.eq_ignore_ascii_case("information_schema")
            || database == "performance_schema"
    }

    /// Whether the account may do what concerns the whole server: SET GLOBAL, KILL of others, all of SHOW PROCESSLIST.
    pub fn may_administer(&self) -> bool {
        self.privileges.everything
    }

    /// Whether the account may create, change and drop accounts.
    pub fn may_manage_accounts(&self) -> bool {
        self.privileges.everything && self.privileges.grant_option
    }

    /// Fails with 1044 when the account may not use the database.
    pub fn check_database(&self, database: &str) -> Result<()> {
        if self.may_use(database) {
            return Ok(());
        }
        Err(Error::new(
            errno::ER_DBACCESS_DENIED_ERROR,
            format!("Access denied for user {} to database '{database}'", self.name()),
        ))
    }

    pub fn has_password(&self) -> bool {
        !self.authentication.is_empty()
    }

    /// `'user'@'host'`, as in error messages.
    pub fn name(&self) -> String {
        quoted_name(&self.user, &self.host)
    }

    /// What SHOW CREATE USER gives: a statement that makes the same account.
    ///
    /// A hash of caching_sha2_password holds bytes that no terminal shows; `hex` writes it in hexadecimal digits
    /// (`@@print_identified_with_as_hex`).
    pub fn create_statement(&self, hex: bool) -> String {
        let hash = match self.authentication.as_str() {
            "" => String::new(),
            hash if hex && self.plugin == CACHING_SHA2_PASSWORD => {
                let digits: String = hash.chars().map(|c| format!("{:02X}", u32::from(c))).collect();
                format!(" AS 0x{digits}")
            }
            hash => format!(" AS '{}'", escaped(hash)),
        };
        format!(
            "CREATE USER `{}`@`{}` IDENTIFIED WITH '{}'{hash} REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT {} PASSWORD \
             HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
            self.user.replace('`', "``"),
            self.host.replace('`', "``"),
            self.plugin,
            if self.locked { "LOCK" } else { "UNLOCK" },
        )
    }

    /// Whether anybody may log in to it.
    pub(crate) fn is_open(&self) -> bool {
        !self.has_password() && !self.locked
    }

    /// What SHOW GRANTS lists.
    pub fn grants(&self) -> Vec<String> {
        let to = format!(
            "TO `{}`@`{}`",
            self.user.replace('`', "``"),
            self.host.replace('`', "``")
        );
        let global = if self.privileges.everything {
            "ALL PRIVILEGES"
        } else {
            "USAGE"
        };
        let option = if self.privileges.grant_option {
            " WITH GRANT OPTION"
        } else {
            ""
        };
        let mut lines = vec![format!("GRANT {global} ON *.* {to}{option}")];
        lines.extend(
            self.privileges
                .databases
                .iter()
                .map(|db| format!("GRANT ALL PRIVILEGES ON `{}`.* {to}", db.replace('`', "``"))),
        );
        lines
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

/// All accounts at one moment, in the order of hosts and users.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    list: Vec<Arc<Account>>,
}

impl Accounts {
    pub(crate) fn new(accounts: impl IntoIterator<Item = Account>) -> Self {
        let mut list: Vec<Arc<Account>> = accounts.into_iter().map(Arc::new).collect();
        list.sort_by(|a, b| (&a.host, &a.user).cmp(&(&b.host, &b.user)));
        Self { list }
    }

    /// An account by its exact name.
    pub fn get(&self, user: &str, host: &str) -> Option<&Arc<Account>> {
        self.list
            .iter()
            .find(|a| a.user == user && a.host.eq_ignore_ascii_case(host))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.list.iter()
    }

    /// Accounts that anybody may use, unlocked and without a password.
    pub fn passwordless(&self) -> impl Iterator<Item = &Arc<Account>> {
        self.list.iter().filter(|a| a.is_open())
    }
}

/// `'user'@'host'`.
pub(crate) fn quoted_name(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

impl Catalog {
    /// All accounts as they are now.
    pub fn accounts(&self) -> Arc<Accounts> {
        self.accounts_cell().load_full()
    }

    /// Whether they are still the ones that somebody knows. Counts no owner, which all statements would share.
    pub fn are_accounts(&self, known: &Arc<Accounts>) -> bool {
        Arc::ptr_eq(&self.accounts_cell().load(), known)
    }

    /// From now on no statement may leave an account that anybody may use: other machines can reach the server.
    pub fn require_passwords(&self) {
        self.passwords_required.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
