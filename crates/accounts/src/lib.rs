//! Accounts: which users may connect, from which hosts, and what they may do.
//!
//! As in MySQL, a new account may connect and do nothing else. There are two sizes of privileges: ALL on
//! everything (`*.*`, with or without GRANT OPTION) and ALL on one database (`db.*`). Finer privileges are
//! not supported yet: a statement that grants them is refused with 1235, never accepted and ignored.
//! `root@localhost` has everything, and no password until a statement sets one.
//!
//! - [`Account`], [`Privileges`]: one account, and what it may do. [`Accounts`]: all accounts at one moment.
//! - [`AccountStore`]: the accounts of a store, and the statements that change them ([`change`]).
//!
//! Not here: passwords and the choice of the account for a client (`server::accounts`). Callers bring
//! finished authentication strings and check them ([`Account::authentication`]). Start at [`AccountStore`].

mod account;
pub mod change;
mod store;

pub use account::{Account, CACHING_SHA2_PASSWORD, MYSQL_NATIVE_PASSWORD, Privileges};
pub use store::{AccountStore, Accounts};

#[cfg(test)]
mod tests;
