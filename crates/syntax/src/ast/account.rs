//! Statements about accounts as written.

use super::ObjectName;

/// `user@host`, or [`current_user`].
pub type AccountName = (String, String);

/// The host of [`current_user`], which no account has: the parser refuses it.
const OF_CURRENT_USER: &str = "\0";

/// `CURRENT_USER()` where an account is named. (`''@''` is an account like any other.)
pub fn current_user() -> AccountName {
    (String::new(), OF_CURRENT_USER.to_owned())
}

/// Whether a name stands for the account of the session.
pub fn is_current_user((user, host): (&str, &str)) -> bool {
    user.is_empty() && host == OF_CURRENT_USER
}

/// Statements about users and roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserStatement {
    Create {
        users: Vec<UserSpec>,
        if_not_exists: bool,
    },
    Alter {
        users: Vec<UserSpec>,
        if_exists: bool,
    },
    Drop {
        users: Vec<AccountName>,
        if_exists: bool,
    },
    /// From, to.
    Rename(Vec<(AccountName, AccountName)>),
    /// If both names of the account are empty, it is the client's own.
    SetPassword(Box<UserSpec>),
    CreateRole {
        roles: Vec<AccountName>,
        if_not_exists: bool,
    },
    DropRole {
        roles: Vec<AccountName>,
        if_exists: bool,
    },
    SetRole(Roles),
    SetDefaultRole {
        roles: Roles,
        users: Vec<AccountName>,
    },
    GrantRoles {
        roles: Vec<AccountName>,
        to: Vec<AccountName>,
        with_admin: bool,
    },
    RevokeRoles {
        roles: Vec<AccountName>,
        from: Vec<AccountName>,
        if_exists: bool,
        ignore_unknown: bool,
    },
}

/// A choice among an account's roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roles {
    Default,
    None,
    All,
    AllExcept(Vec<AccountName>),
    List(Vec<AccountName>),
}

/// `user@host IDENTIFIED [WITH plugin] BY password | AS hash ACCOUNT LOCK | UNLOCK`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserSpec {
    pub user: String,
    pub host: String,
    pub plugin: Option<String>,
    pub password: Option<String>,
    pub hash: Option<String>,
    pub locked: Option<bool>,
    /// DEFAULT ROLE.
    pub default_roles: Option<Roles>,
    /// IDENTIFIED BY RANDOM PASSWORD: the server makes one.
    pub is_random: bool,
    /// REPLACE: the account's current password.
    pub current_password: Option<String>,
    pub second_password: SecondPassword,
    pub options: AccountOptions,
}

/// What a statement does with an account's second password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondPassword {
    #[default]
    Keep,
    /// RETAIN CURRENT PASSWORD: the present password becomes the second one.
    Retain,
    /// DISCARD OLD PASSWORD.
    Discard,
}

/// `REQUIRE ...`
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsRequirement {
    None,
    Ssl,
    X509,
    /// Some of `CIPHER`, `ISSUER` and `SUBJECT`.
    Specified {
        cipher: Option<String>,
        issuer: Option<String>,
        subject: Option<String>,
    },
}

/// The options after the accounts of CREATE USER and ALTER USER (manual 13.7.1.3). `None`: the statement does
/// not have the option. An inner `None`: DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountOptions {
    /// REQUIRE.
    pub tls: Option<TlsRequirement>,
    pub max_queries: Option<u32>,
    pub max_updates: Option<u32>,
    pub max_connections: Option<u32>,
    pub max_user_connections: Option<u32>,
    /// PASSWORD EXPIRE without more: the password expires at once.
    pub expires_now: bool,
    /// PASSWORD EXPIRE DEFAULT, NEVER (0) or INTERVAL n DAY.
    pub password_days: Option<Option<u16>>,
    pub history: Option<Option<u16>>,
    pub reuse_days: Option<Option<u16>>,
    pub requires_current: Option<Option<bool>>,
    pub failed_logins: Option<u16>,
    /// PASSWORD_LOCK_TIME in days; -1 is UNBOUNDED.
    pub lock_days: Option<i32>,
    pub comment: Option<String>,
    /// ATTRIBUTE: the text of a JSON object.
    pub attribute: Option<String>,
}

/// `GRANT privileges ON target TO users`. REVOKE has the same parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub privileges: GrantedPrivileges,
    pub on: GrantTarget,
    pub users: Vec<AccountName>,
    /// WITH GRANT OPTION.
    pub grant_option: bool,
    pub grantor: Option<GrantAs>,
}

/// `AS user [WITH ROLE ...]`: the account whose restrictions go with what is granted, with these roles active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantAs {
    pub user: AccountName,
    pub roles: Roles,
}

/// `REVOKE ... FROM users`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revoke {
    /// `None`: ALL PRIVILEGES, GRANT OPTION of every level.
    pub what: Option<(GrantedPrivileges, GrantTarget)>,
    pub users: Vec<AccountName>,
    pub if_exists: bool,
    /// IGNORE UNKNOWN USER.
    pub ignore_unknown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantedPrivileges {
    All,
    List(Vec<GrantedPrivilege>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedPrivilege {
    /// In upper case, one space between words. USAGE counts as a privilege and gives nothing.
    pub name: String,
    /// Empty for all columns.
    pub columns: Vec<String>,
}

/// `ON ...` of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantTarget {
    /// `*.*`
    Everything,
    /// `database.*`, or `*`: the default database. `%` and `_` are wildcards.
    Database(Option<String>),
    Table(ObjectName),
    /// FUNCTION or PROCEDURE.
    Routine {
        kind: &'static str,
        name: ObjectName,
    },
}
