//! What `session`, which handles commands, and `server`, which owns the connection, have in common.
//!
//! These types are in the crate below both, so that neither depends on the other. Packets are not described
//! here: those from the client are in [`crate::command`], those to the client in [`crate::ok`],
//! [`crate::row`] and the modules beside them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use types::Result;

use crate::framing::FrameEncoder;

/// Where a session sends its replies: one call per packet payload, without header. The implementation does
/// the framing, sequence numbers, splitting at 16 MiB, compression and buffering. An error means that the
/// client is gone.
pub trait PacketSink {
    fn send(&mut self, payload: &[u8]) -> io::Result<()>;

    /// Sends the payload that `write` appends to the given buffer, which saves a copy: for rows. The buffer
    /// may hold other bytes already, so `write` may only append.
    fn send_with(&mut self, write: &mut dyn FnMut(&mut Vec<u8>)) -> io::Result<()> {
        let mut payload = Vec::new();
        write(&mut payload);
        self.send(&payload)
    }

    /// Makes the reply to the running command a pending one: it is sent when [`PendingReply::complete`] is
    /// called. No part of it may have been sent yet. `None`: this connection cannot do that, or not now.
    fn defer_reply(&mut self) -> Option<Arc<dyn PendingReply>> {
        None
    }

    /// Lends the buffer itself, for many packets in a row. Nothing is written to the client meanwhile. If
    /// `fill` returns false, what it appended is removed.
    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()>;

    /// Waits for the next packet that the client sends within the running command: a piece of the file that
    /// it was asked for. Buffered packets are written before that.
    fn receive(&mut self, _payload: &mut Vec<u8>) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Writes buffered packets to the client, between long pieces of work. At the end of a command that
    /// happens anyway.
    fn flush(&mut self) -> io::Result<()>;
}

/// A reply that must not be sent before the outcome of a commit is known. One thread writes the reply (the
/// session's), another may learn the outcome.
pub trait PendingReply: Send + Sync {
    /// The thread that learns the outcome calls this once: the reply is sent, or the error in its place.
    /// `if_detached` is run before that if the session has called [`PendingReply::detach`] and got no
    /// outcome.
    fn complete(self: Arc<Self>, outcome: Result<()>, if_detached: &mut dyn FnMut());

    /// The session calls this once, before it writes its reply. If the outcome is known already, it is
    /// returned, and the reply is no longer pending. If not (`None`), the session goes on as if the commit
    /// had succeeded.
    fn detach(&self) -> Option<Result<()>>;
}

/// For packets that must come before those of a [`PacketSink::append`].
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
        self.append_if(fill);
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
    /// Close the connection (COM_QUIT, KILL CONNECTION of its own id, shutdown).
    Close,
}

/// The client and its account, known once authentication is over.
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

/// The values of `SHOW STATUS LIKE 'Ssl_%'`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsInfo {
    /// `TLSv1.3`.
    pub version: String,
    /// `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// Ends a connection from any thread: KILL.
pub trait HangUp: Send + Sync {
    /// The connection reads no further command and sends no reply. The caller has to interrupt the running
    /// statement.
    fn hang_up(&self);
}
