//! The placement driver: who leads it ([`members`]), timestamps ([`oracle`]), and everything asked now and then
//! ([`PdClient`]).

pub mod client;
pub mod members;
pub mod oracle;

pub use client::PdClient;
pub use oracle::Oracle;
