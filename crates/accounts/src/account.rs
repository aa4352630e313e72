//! One account and its privileges.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

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
    /// Every account may use `information_schema` and `performance_schema`: they show only what the account
    /// may see.
    pub fn may_use(&self, database: &str) -> bool {
        self.privileges.everything
            || self.privileges.databases.contains(database)
            || database.eq_ignore_ascii_case("information_schema")
            || database == "performance_schema"
    }

    /// Whether the account may do what concerns the whole server: SET GLOBAL, KILL of others, all of SHOW
    /// PROCESSLIST.
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
    /// A hash of caching_sha2_password holds bytes that no terminal shows; `hex` writes it in hexadecimal
    /// digits (`@@print_identified_with_as_hex`).
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

    /// Whether every client can log in to it.
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

/// `'user'@'host'`.
pub(crate) fn quoted_name(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}
