//! Packets to and from a client: [`wire`]'s framing and compression over a [`Transport`].

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus::IntCounter;
use types::{Error, Result, errno};
use wire::compression::{Algorithm, Compressor, Decompressor};
use wire::framing::{FrameDecoder, FrameEncoder};
use wire::{HeldAnswer, PacketSink};

use crate::held::Held;
use crate::transport::Transport;

/// Frames are written to the client when so many bytes of them have come together.
const WRITE_BYTES: usize = 32 * 1024;
const READ_BYTES: usize = 16 * 1024;

/// A connection's packets. [`Channel::input`] and [`Channel::output`] are apart, so that a command can be read from one
/// while its answer goes to the other.
pub struct Channel {
    pub input: Input,
    pub output: Output,
    pub transport: Transport,
    /// Answers that wait, where they may: as plain as they come.
    pub held: Option<Arc<Held>>,
    /// For frames, while others are away.
    spare: Vec<u8>,
}

/// What came of waiting for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// It is in [`Input::payload`].
    Packet,
    /// The read timeout passed, and nothing of a packet has come.
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

/// Bytes to payloads.
pub struct Input {
    frames: FrameDecoder,
    compressed: Option<(Decompressor, Vec<u8>)>,
    bytes_received: IntCounter,
}

/// Payloads to bytes.
pub struct Output {
    frames: FrameEncoder,
    compressor: Option<(Compressor, Vec<u8>)>,
    bytes_sent: IntCounter,
}

impl Channel {
    pub fn new(
        transport: Transport,
        payload_bytes_max: usize,
        bytes_received: IntCounter,
        bytes_sent: IntCounter,
    ) -> Self {
        Self {
            input: Input {
                frames: FrameDecoder::new(payload_bytes_max),
                compressed: None,
                bytes_received,
            },
            output: Output {
                frames: FrameEncoder::new(),
                compressor: None,
                bytes_sent,
            },
            transport,
            held: None,
            spare: Vec::new(),
        }
    }

    /// From here on both directions are compressed.
    pub fn start_compression(&mut self, algorithm: Algorithm) {
        let mut decompressor = Decompressor::new(algorithm);
        // Bytes of a client that does not wait for its login to be answered.
        decompressor.feed(&self.input.frames.take_pending());
        self.input.frames.ignore_sequence();
        self.input.compressed = Some((decompressor, vec![0; READ_BYTES]));
        self.output.compressor = Some((Compressor::new(algorithm), Vec::new()));
    }

    /// Waits for the next packet. Within a packet, a pause longer than `within` is an error.
    pub fn receive(&mut self, within: Duration) -> std::result::Result<Received, ReceiveError> {
        let mut paused_since: Option<Instant> = None;
        loop {
            if self.input.advance()? {
                self.count_on();
                return Ok(Received::Packet);
            }
            match self.input.fill(&mut self.transport) {
                Ok(0) => return Ok(Received::Closed),
                Ok(_) => paused_since = None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if !self.input.has_pending() {
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

    /// The answer goes on counting where the command's frames ended.
    fn count_on(&mut self) {
        self.output.frames.set_sequence(self.input.frames.sequence());
        if let (Some((compressor, _)), Some((decompressor, _))) =
            (&mut self.output.compressor, &self.input.compressed)
        {
            compressor.set_sequence(decompressor.sequence());
        }
    }

    /// Reads the rest of a packet that [`Channel::receive`] has refused as too long, so that the client, which listens
    /// only when it has sent all of it, gets to read why. Gives up after a pause longer than `within`, and on a packet
    /// that is longer than any may be.
    pub fn skip_packet(&mut self, within: Duration) {
        const PACKET_BYTES_MAX: usize = 1 << 30;
        let mut total = 0;
        while total < PACKET_BYTES_MAX {
            match self.input.skip() {
                Ok(true) => return self.count_on(),
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

    /// The next packet begins a command, or is an error that nobody asked for: its numbers start at 0.
    pub fn start_command(&mut self) {
        self.input.frames.set_sequence(0);
        self.output.frames.set_sequence(0);
        if let Some((decompressor, _)) = &mut self.input.compressed {
            decompressor.set_sequence(0);
        }
        if let Some((compressor, _)) = &mut self.output.compressor {
            compressor.set_sequence(0);
        }
    }

    /// The next packet answers what was sent: it goes on counting.
    pub fn expect_reply(&mut self) {
        self.input.frames.set_sequence(self.output.frames.sequence());
    }

    /// Gives buffers back while the client is idle.
    pub fn release_memory(&mut self) {
        self.input.frames.release();
        self.output.frames.release();
        self.spare = Vec::new();
    }

    /// Where answers go.
    pub fn sink(&mut self) -> Sink<'_> {
        Sink {
            output: &mut self.output,
            transport: &mut self.transport,
            held: self.held.as_ref(),
        }
    }

    /// The command last received, and where its answer goes.
    pub fn command_and_sink(&mut self) -> (&[u8], Sink<'_>) {
        (
            self.input.frames.payload(),
            Sink {
                output: &mut self.output,
                transport: &mut self.transport,
                held: self.held.as_ref(),
            },
        )
    }

    /// Takes out what is to be sent.
    pub fn take_frames(&mut self) -> Vec<u8> {
        let spare = std::mem::take(&mut self.spare);
        self.output.frames.take(spare)
    }

    /// Gives back what [`Channel::take_frames`] took, for the next ones.
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        self.spare = buffer;
    }

    /// Sends an error packet. `capabilities` as in [`wire::err::encode`].
    pub fn send_error(&mut self, error: &Error, capabilities: u32) -> io::Result<()> {
        let mut sink = self.sink();
        sink.send_with(&mut |out| wire::err::encode(error, capabilities, None, out))?;
        sink.flush()
    }

    /// Closes so that the client still gets what was sent last: while it writes something that nobody reads, closing at
    /// once would reset the connection and lose the error packet.
    pub fn linger(&mut self) {
        const LINGER: Duration = Duration::from_secs(2);
        const BYTES_MAX: usize = 64 * 1024 * 1024;
        self.transport.close();
        let deadline = Instant::now() + LINGER;
        let mut scratch = [0; READ_BYTES];
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

/// Error 1159, as MySQL words it.
fn read_timeout() -> Error {
    Error::new(
        errno::ER_NET_READ_INTERRUPTED,
        "Got timeout reading communication packets",
    )
}

/// Error 4031: what MySQL tells a client that was idle for too long.
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

impl Input {
    /// The packet last received.
    pub fn payload(&self) -> &[u8] {
        self.frames.payload()
    }

    /// Bytes that no packet has been made of.
    pub fn pending(&self) -> &[u8] {
        self.frames.pending()
    }

    pub fn take_pending(&mut self) -> Vec<u8> {
        self.frames.take_pending()
    }

    pub fn set_payload_bytes_max(&mut self, bytes: usize) {
        self.frames.set_payload_bytes_max(bytes);
    }

    fn has_pending(&self) -> bool {
        self.frames.has_pending() || self.compressed.as_ref().is_some_and(|(d, _)| d.has_pending())
    }

    fn advance(&mut self) -> Result<bool> {
        loop {
            if self.frames.advance()? {
                return Ok(true);
            }
            let Some((decompressor, _)) = &mut self.compressed else {
                return Ok(false);
            };
            let frames = &mut self.frames;
            if !decompressor.advance(|plain| frames.feed(plain))? {
                return Ok(false);
            }
        }
    }

    /// Throws away what has arrived of a packet that is too long; true at its end.
    fn skip(&mut self) -> Result<bool> {
        loop {
            if self.frames.skip() {
                return Ok(true);
            }
            let Some((decompressor, _)) = &mut self.compressed else {
                return Ok(false);
            };
            let frames = &mut self.frames;
            if !decompressor.advance(|plain| frames.feed(plain))? {
                return Ok(false);
            }
        }
    }

    /// One read.
    fn fill(&mut self, transport: &mut Transport) -> io::Result<usize> {
        let count = match &mut self.compressed {
            None => {
                let count = transport.read(self.frames.spare())?;
                self.frames.filled(count);
                count
            }
            Some((decompressor, scratch)) => {
                let count = transport.read(scratch)?;
                decompressor.feed(scratch.get(..count).unwrap_or_default());
                count
            }
        };
        self.bytes_received.inc_by(count as u64);
        Ok(count)
    }
}

impl Output {
    /// Takes back a packet whose writer panicked.
    pub fn abandon(&mut self) {
        self.frames.abandon();
    }

    fn write_out(&mut self, transport: &mut Transport) -> io::Result<()> {
        let plain = self.frames.bytes();
        if plain.is_empty() {
            return Ok(());
        }
        let result = match &mut self.compressor {
            None => {
                self.bytes_sent.inc_by(plain.len() as u64);
                transport.write_all(plain)
            }
            Some((compressor, scratch)) => {
                scratch.clear();
                compressor.compress(plain, scratch).map_err(io::Error::other)?;
                self.bytes_sent.inc_by(scratch.len() as u64);
                transport.write_all(scratch)
            }
        };
        self.frames.clear();
        result
    }
}

/// Where a session's answers go: see [`PacketSink`].
pub struct Sink<'a> {
    output: &'a mut Output,
    transport: &'a mut Transport,
    held: Option<&'a Arc<Held>>,
}

impl Sink<'_> {
    fn write_when_full(&mut self) -> io::Result<()> {
        let waits = self.held.is_some_and(|held| held.is_open());
        if self.output.frames.bytes().len() >= WRITE_BYTES && !waits {
            self.output.write_out(self.transport)?;
        }
        Ok(())
    }
}

impl PacketSink for Sink<'_> {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        self.output.frames.push(payload);
        self.write_when_full()
    }

    fn send_with(&mut self, write: &mut dyn FnMut(&mut Vec<u8>)) -> io::Result<()> {
        self.output.frames.push_with(write);
        self.write_when_full()
    }

    fn hold(&mut self) -> Option<Arc<dyn HeldAnswer>> {
        let held = self.held.filter(|_| self.output.frames.bytes().is_empty())?;
        held.open().then(|| Arc::clone(held) as Arc<dyn HeldAnswer>)
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        self.output.frames.keep_if(fill);
        self.write_when_full()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_out(self.transport)?;
        self.transport.flush()
    }
}
