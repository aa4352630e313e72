//! What whoever answers commands (`session`) and whoever owns the connection (`server`) tell each other.
//!
//! These types are here, below both, so that neither depends on the other. No packet is described here: those are
//! [`crate::command`] on the way in, and [`crate::ok`], [`crate::row`] and their neighbours on the way out.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use types::Result;

use crate::framing::FrameEncoder;

/// Where a session's answers go: one call per packet payload, without header. Framing, sequence numbers, splitting at
/// 16 MiB, compression and buffering are the implementor's. An error means that the client is gone.
pub trait PacketSink {
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;

    /// Sends the payload that `write` appends to the buffer it is given, without a copy in between: for rows.
    /// The buffer may hold other bytes already: `write` may append only.
    fn send_with(&mut self, write: &mut dyn FnMut(&mut Vec<u8>)) -> io::Result<()> {
        let mut payload = Vec::new();
        write(&mut payload);
        self.send(&payload)
    }

    /// Makes the reply to the running command a pending one: it is sent when [`PendingReply::complete`] is called. Nothing of
    /// it may have been sent yet. `None`: this connection cannot do that, or not now.
    fn defer_reply(&mut self) -> Option<Arc<dyn PendingReply>> {
        None
    }

    /// Lends the buffer itself, for many packets that come fast: nothing is written to the client meanwhile. What `fill`
    /// appends is taken back if it answers false.
    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()>;

    /// Pushes buffered packets to the client: between long pieces of work. (At the end of a command it happens anyway.)
    fn flush(&mut self) -> io::Result<()>;
}

/// A reply that must not be sent before the outcome of a commit is known. One thread writes the reply (the session's),
/// another may learn the outcome.
pub trait PendingReply: Send + Sync {
    /// The thread that learns the outcome calls this once: the reply is sent, or the error in its place. `if_detached` is run
    /// before that if the session has called [`PendingReply::detach`] and got no outcome.
    fn complete(self: Arc<Self>, outcome: Result<()>, if_detached: &mut dyn FnMut());

    /// The session calls this once, before it writes its reply. If the outcome is known already, it is returned, and the
    /// reply is no longer pending. If not (`None`), the session goes on as if the commit had succeeded.
    fn detach(&self) -> Option<Result<()>>;
}

/// For packets that have to come before those of a [`PacketSink::append`].
impl PacketSink for FrameEncoder {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.push(payload);
        Ok(())
    }

    fn send_with(&mut self, write: &mut dyn FnMut(&mut Vec<u8>)) -> io::Result<()> {
        self.push_with(write);
        Ok(())
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        self.keep_if(fill);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the connection loop does after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Close the connection (COM_QUIT, KILL CONNECTION of oneself, shutdown).
    Close,
}

/// Who is on the other end, known once authentication is over.
#[derive(Debug, Clone, Default)]
pub struct ClientInfo {
    pub user: String,
    /// Host name part of the peer, as in `USER()`: `localhost` for the socket.
    pub host: String,
    /// The account that matched: `user@host` for `CURRENT_USER()`.
    pub account: String,
    pub database: Option<String>,
    /// Capability flags both sides agreed on: [`crate::capability`].
    pub capabilities: u32,
    /// Collation id of the handshake response.
    pub collation: u16,
    pub attributes: Vec<(String, String)>,
    pub peer: Option<SocketAddr>,
    /// TLS version and cipher suite, `None` on a plain connection.
    pub tls: Option<TlsInfo>,
    /// `zlib` or `zstd`, as `SHOW STATUS LIKE 'Compression_algorithm'` has it.
    pub compression: Option<&'static str>,
}

/// What `SHOW STATUS LIKE 'Ssl_%'` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.3`.
    pub version: String,
    /// `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// Ends a connection from any thread: KILL.
pub trait HangUp: Send + Sync {
    /// The connection reads no further command and answers none. Interrupting the running one is the caller's.
    fn hang_up(&self);
}
