//! MySQL's client/server protocol: packets in both directions, one packet per file, with the manual's page
//! above each type.
//!
//! Not here: I/O and sockets (`server`), the meaning of commands (`session`), the state of a session. No
//! bytes from a client make this crate panic.
//!
//! Where to go next, from the network inwards: [`compression`] (if both sides agreed on it) carries the
//! frames of [`framing`], and frames carry payloads. Payloads of the connection phase are in [`handshake`],
//! their computations in [`auth`], and what matches a client's address in [`host`]. After that a client sends [`command::Command`]s. Replies are [`ok`],
//! [`err`], [`eof`], [`prepare_ok`], or [`column_definition`]s followed by [`row`]s. [`connection`] holds
//! what `server` and `session` have in common.

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
pub mod host;
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
