//! The packets of one connection: [`Input`] and [`Output`] over a [`Transport`], and the rules for their
//! sequence numbers.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use types::{Error, errno};
use wire::PacketSink;
use wire::compression::Algorithm;

use crate::input::Input;
use crate::output::{Incoming, Output, Sink};
use crate::pending_reply::ConnectionReply;
use crate::receive::{ReceiveError, Received, receive};
use crate::transport::Transport;

/// One connection's packets. [`Channel::input`] and [`Channel::output`] are separate fields, so that a
/// command can be borrowed from one while its reply goes to the other.
pub struct Channel {
    pub input: Input,
    pub output: Output,
    pub transport: Transport,
    /// Where a reply is left until a commit's outcome is known. `None` on connections with TLS or
    /// compression, since the thread that sends it writes to the socket directly.
    pub reply: Option<Arc<ConnectionReply>>,
    /// What goes on after a command that is still in use ([`PacketSink::receive`]).
    behind: Option<Box<Input>>,
    /// How long the client may pause while it sends a file.
    pub file_timeout: Duration,
    /// The second buffer for frames, used while the first is with a pending reply.
    spare: Vec<u8>,
}

impl Channel {
    pub fn new(transport: Transport, input: Input, output: Output) -> Self {
        Self {
            input,
            output,
            transport,
            reply: None,
            behind: None,
            file_timeout: Duration::ZERO,
            spare: Vec::new(),
        }
    }

    /// From here on both directions are compressed.
    pub fn start_compression(&mut self, algorithm: Algorithm) {
        self.input.start_compression(algorithm);
        self.output.start_compression(algorithm);
    }

    /// Waits for the next packet. Within a packet, a pause longer than `within` is an error.
    pub fn receive(&mut self, within: Duration) -> std::result::Result<Received, ReceiveError> {
        let received = receive(&mut self.input, &mut self.transport, within)?;
        if received == Received::Packet {
            self.continue_sequence();
        }
        Ok(received)
    }

    /// The command has ended: if packets have come after it, so will the next.
    pub fn end_command(&mut self) {
        if let Some(behind) = self.behind.take() {
            self.input = *behind;
        }
    }

    /// The reply's frames continue the numbers of the command's frames.
    fn continue_sequence(&mut self) {
        let compressed = self.input.compressed_sequence();
        self.output.set_sequence(self.input.sequence(), compressed);
    }

    /// Reads the rest of a packet that [`Channel::receive`] has refused. The client reads the error only
    /// after it has written the whole packet. Gives up after a pause longer than `within`, and on a packet
    /// longer than the protocol allows.
    pub fn skip_packet(&mut self, within: Duration) {
        const PACKET_BYTES_MAX: usize = 1 << 30;
        let mut total = 0;
        while total < PACKET_BYTES_MAX {
            match self.input.skip() {
                Ok(true) => return self.continue_sequence(),
                Ok(false) => {}
                Err(_) => return,
            }
            if self.transport.set_read_timeout(within).is_err() {
                return;
            }
            match self.input.fill(&mut self.transport) {
                Ok(0) => return,
                Ok(count) => total += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// The next packet begins a command, or is an error without a command: its number is 0.
    pub fn start_command(&mut self) {
        self.input.start_command();
        self.output.set_sequence(0, Some(0));
    }

    /// The next packet is the client's reply to a packet of ours, so its number follows.
    pub fn expect_reply(&mut self) {
        self.input.set_sequence(self.output.sequence());
    }

    /// Frees buffers while the client is idle.
    pub fn release_memory(&mut self) {
        self.input.release_memory();
        self.output.release_memory();
        self.spare = Vec::new();
    }

    /// Where replies go.
    pub fn sink(&mut self) -> Sink<'_> {
        self.command_and_sink().1
    }

    /// The last received command, and where its reply goes.
    pub fn command_and_sink(&mut self) -> (&[u8], Sink<'_>) {
        (
            self.input.payload(),
            Sink {
                output: &mut self.output,
                transport: &mut self.transport,
                reply: self.reply.as_ref(),
                incoming: Incoming {
                    command: &self.input,
                    behind: &mut self.behind,
                    within: self.file_timeout,
                },
            },
        )
    }

    /// Takes out the frames that have not been sent.
    pub fn take_frames(&mut self) -> Vec<u8> {
        let spare = std::mem::take(&mut self.spare);
        self.output.take_frames(spare)
    }

    /// Gives back a buffer of [`Channel::take_frames`], to be used again.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare = buffer;
    }

    /// Sends an error packet. `capabilities` as in [`wire::err::encode`].
    pub fn send_error(&mut self, error: &Error, capabilities: u32) -> io::Result<()> {
        let mut sink = self.sink();
        sink.send_with(&mut |out| wire::err::encode(error, capabilities, None, out))?;
        sink.flush()
    }

    /// Closes the connection so that the client still receives the last packet. If the client is writing
    /// data that the server does not read, closing at once would reset the connection, and the error packet
    /// would be lost.
    pub fn linger(&mut self) {
        const LINGER: Duration = Duration::from_secs(2);
        const BYTES_MAX: usize = 64 * 1024 * 1024;
        self.transport.close();
        let deadline = Instant::now() + LINGER;
        let mut scratch = [0; 16 * 1024];
        let mut total = 0;
        let socket = self.transport.socket().clone();
        while total < BYTES_MAX {
            let Some(left) = deadline
                .checked_duration_since(Instant::now())
                .filter(|d| !d.is_zero())
            else {
                return;
            };
            if socket.set_read_timeout(left).is_err() {
                return;
            }
            match (&*socket).read(&mut scratch) {
                Ok(0) | Err(_) => return,
                Ok(count) => total += count,
            }
        }
    }
}

/// Error 4031, which MySQL sends to a client that was idle for too long.
pub fn inactivity() -> Error {
    Error::new(
        errno::ER_CLIENT_INTERACTION_TIMEOUT,
        "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout \
         for configuring this behavior.",
    )
}

/// Error 1053, as MySQL words it.
pub fn shutdown_in_progress() -> Error {
    Error::new(errno::ER_SERVER_SHUTDOWN, "Server shutdown in progress")
}
