//! Waiting for a packet.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use types::{Error, errno};

use crate::input::Input;
use crate::transport::Transport;

/// The result of waiting for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// It is in [`Input::payload`].
    Packet,
    /// The read timeout passed, and no byte of a packet has arrived.
    Idle,
    /// The client has closed the connection.
    Closed,
}

/// Why a packet could not be received.
#[derive(Debug)]
pub enum ReceiveError {
    /// The client gets this error before the connection closes.
    Protocol(Error),
    Io(io::Error),
}

impl From<Error> for ReceiveError {
    fn from(error: Error) -> Self {
        Self::Protocol(error)
    }
}

impl From<io::Error> for ReceiveError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Waits for the next packet. Within a packet, a pause longer than `within` is an error.
pub fn receive(
    input: &mut Input,
    transport: &mut Transport,
    within: Duration,
) -> std::result::Result<Received, ReceiveError> {
    let mut paused_since: Option<Instant> = None;
    loop {
        if input.advance()? {
            return Ok(Received::Packet);
        }
        match input.fill(transport) {
            Ok(0) => return Ok(Received::Closed),
            Ok(_) => paused_since = None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if !input.has_pending() {
                    return Ok(Received::Idle);
                }
                if paused_since.get_or_insert_with(Instant::now).elapsed() >= within {
                    return Err(read_timeout().into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Error 1159, as MySQL words it.
fn read_timeout() -> Error {
    Error::new(
        errno::ER_NET_READ_INTERRUPTED,
        "Got timeout reading communication packets",
    )
}
