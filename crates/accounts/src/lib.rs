//! Accounts: which users may connect, from which hosts, and what they may do.
//!
//! As in MySQL, a new account may connect and do nothing else. Privileges are granted on everything, on
//! databases, tables and columns, to accounts and to roles. `root@localhost` has all of them, and no password
//! until a statement sets one.
//!
//! - [`Account`]: one account or role. [`Privileges`]: what it may do. [`Accounts`]: all accounts at one moment.
//! - [`AccountStore`]: the accounts of a store, and the statements that change them ([`change`]).
//!
//! Not here: passwords and the choice of the account for a client (`server::accounts`); which privileges a
//! statement needs (`planner::object_access`, `session`). Callers bring finished authentication strings and
//! check them ([`Account::authentication`]). Start at [`AccountStore`].

mod account;
pub mod change;
mod options;
mod pattern;
mod privileges;
mod roles;
mod show_grants;
mod store;

pub use account::{
    Account, AccountName, CACHING_SHA2_PASSWORD, GrantedRole, ShownHash, name_in_backticks,
    names_in_backticks,
};
pub use options::{
    AccountOptions, LoginTracking, OptionChanges, PastPassword, RequiredCertificate, ResourceLimits,
    TlsRequirement,
};
pub use privileges::{Privileges, TablePrivileges};
pub use store::{AccountStore, Accounts};

#[cfg(test)]
mod tests;
