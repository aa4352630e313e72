//! One connection's state and the way of one statement, from packet to packets.
//!
//! PLACEHOLDER of the interface `server` is written against.

use std::io;
use std::net::SocketAddr;

/// Where a session's answers go: one call per packet payload (no header; framing, sequence numbers, splitting at 16 MiB,
/// compression and buffering are the implementor's). Errors mean the client is gone.
pub trait PacketSink {
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;
    /// Pushes buffered packets to the client: between long pieces of work, and at the end of a command.
    fn flush(&mut self) -> io::Result<()>;
}

/// What the connection loop does after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Close the connection (COM_QUIT, KILL CONNECTION, shutdown).
    Close,
}

/// Who is on the other end, known once authentication is over.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    pub user: String,
    /// Host name part of the peer, as in SHOW PROCESSLIST ("localhost" for the socket).
    pub host: String,
    /// The account that matched: `user@host` for CURRENT_USER().
    pub account: String,
    pub database: Option<String>,
    /// Capability flags both sides agreed on.
    pub capabilities: u32,
    /// Collation id of the handshake response.
    pub collation: u16,
    pub attributes: Vec<(String, String)>,
    pub peer: Option<SocketAddr>,
    pub tls: Option<String>,
}
// pub struct Shared — everything sessions share (store, catalog, plan cache, global variables, process list); made once.
// impl Session {
//   pub fn open(shared: Arc<Shared>, connection_id: u64, client: ClientInfo) -> types::Result<Session>;  // USE of client.database may fail: 1049
//   pub fn handle(&mut self, command: &[u8], out: &mut dyn PacketSink) -> io::Result<Flow>;   // any command packet but COM_CHANGE_USER
//   pub fn change_user(&mut self, client: ClientInfo) -> types::Result<()>;    // after server has authenticated again
//   pub fn process(&self) -> &Arc<Process>;    // Process: Arc<kv::Interrupt>, killed flag, "a statement is running since" for the watcher of vanished clients
//   pub fn in_transaction(&self) -> bool;      // draining lets these finish
//   pub fn wait_timeout(&self) -> Duration;  pub fn max_allowed_packet(&self) -> usize; pub fn net_write_timeout..
// }
// Drop rolls back.
