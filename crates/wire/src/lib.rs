//! MySQL's client/server protocol: packets in both directions, one packet per file, with the manual's page above each
//! type. No I/O, no state of a session, and no panic on any bytes.
//!
//! From the network inwards: [`compression`] (where agreed on) carries [`framing`]'s frames, and these carry payloads.
//! Payloads of the connection phase are in [`handshake`], with their arithmetic in [`auth`]; a [`command::Command`] is
//! what a client then sends. Answers are [`ok`], [`err`], [`eof`], [`prepare_ok`], or [`column_definition`]s followed by
//! [`row`]s. LOAD DATA LOCAL's packets are left out on purpose: the capability is never offered.
//!
//! Who reads and writes the bytes is `server`; who answers commands is `session`; [`connection`] is what these two have
//! in common.

pub mod auth;
pub mod capabilities;
pub mod charset;
pub mod column_definition;
pub mod column_type;
pub mod command;
pub mod compression;
pub mod connection;
pub mod eof;
pub mod err;
pub mod framing;
pub mod handshake;
pub mod ok;
pub mod prepare_ok;
pub mod proxy;
pub mod reader;
pub mod row;
pub mod session_track;
pub mod status;
pub mod writer;

pub use capabilities::capability;
pub use column_definition::ColumnDefinition;
pub use command::Command;
pub use connection::{ClientInfo, Flow, HangUp, PacketSink, PendingReply, TlsInfo};
pub use session_track::SessionTrack;
