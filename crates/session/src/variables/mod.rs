//! System variables: their list (`rows`; [`definitions`]), their values for the server and for one session
//! ([`values`]), and the few that statements read often, parsed once ([`settings`]). Values by their kind:
//! `convert`, `sql_mode`, [`charset`]; beside those of other variables: `limits`. Which of them an account may set: `restricted`. Which
//! MySQL has deprecated: `deprecated`.
//!
//! Source: MySQL 8.0 manual 5.1.8 "Server System Variables".

pub mod charset;
pub(crate) mod convert;
pub mod definitions;
mod flags;
mod kinds;
mod limits;
pub(crate) mod notices;
mod optimizer_switch;
pub(crate) mod restricted;
mod rows;
pub mod settings;
mod sql_mode;
pub mod values;

pub use definitions::{Definition, Scope, lookup};
pub use settings::Settings;
pub use values::{GlobalVariables, SessionVariables};
