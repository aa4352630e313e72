//! Statements about accounts as written.

/// `user@host`. Both are empty for `CURRENT_USER()`.
pub type AccountName = (String, String);

/// What CREATE USER and its like say.
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
    SetPassword {
        user: Option<AccountName>,
        password: String,
    },
    /// SET ROLE or SET DEFAULT ROLE of a role with a name.
    SetRole {
        role: AccountName,
        /// The account of SET DEFAULT ROLE; `None`: the session's own.
        user: Option<AccountName>,
    },
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
}

/// `ON ...` of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantTarget {
    /// `*.*`
    Everything { grant_option: bool },
    /// `database.*`, or `*`: the default database.
    Database(Option<String>),
}
