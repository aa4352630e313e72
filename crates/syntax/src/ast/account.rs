//! Statements about accounts as written.

use super::ObjectName;

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

/// Which of an account's roles.
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
}

/// `GRANT privileges ON target TO users`, and the same of REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub privileges: GrantedPrivileges,
    pub on: GrantTarget,
    pub users: Vec<AccountName>,
    /// WITH GRANT OPTION.
    pub grant_option: bool,
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
    /// In upper case, one space between words. USAGE is one that gives nothing.
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
