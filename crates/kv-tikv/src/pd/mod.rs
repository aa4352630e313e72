//! PD, the placement driver: its members and leader ([`members`]), timestamps ([`oracle`]), and all other
//! requests ([`PdClient`]).

pub mod client;
pub mod members;
pub mod oracle;

pub use client::PdClient;
pub use oracle::Oracle;
