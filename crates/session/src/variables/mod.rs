//! System variables: which there are ([`definitions`]), their values for the server and for one session ([`values`]),
//! and the few that statements look at often, parsed once ([`settings`]). [`charset`]: values that name character sets.
//!
//! Source: MySQL 8.0 manual 5.1.8 "Server System Variables".

pub mod charset;
pub mod definitions;
pub mod settings;
pub mod values;

pub use definitions::{Definition, Scope, lookup};
pub use settings::Settings;
pub use values::{GlobalVariables, SessionVariables};
