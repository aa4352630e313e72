//! Packets to a client's bytes: framing, compression, and the buffer that saves system calls.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::time::Duration;

use prometheus::IntCounter;
use wire::compression::{Algorithm, Compressor};
use wire::framing::FrameEncoder;
use wire::{PacketSink, PendingReply};

use crate::input::Input;
use crate::pending_reply::ConnectionReply;
use crate::receive::{ReceiveError, Received, receive};
use crate::transport::Transport;

/// How many bytes of frames are collected before they are written to the client.
const WRITE_BYTES: usize = 32 * 1024;

/// Outgoing packets of one connection.
pub struct Output {
    frames: FrameEncoder,
    compressor: Option<(Compressor, Vec<u8>)>,
    bytes_sent: IntCounter,
}

impl Output {
    pub fn new(bytes_sent: IntCounter) -> Self {
        Self {
            frames: FrameEncoder::new(),
            compressor: None,
            bytes_sent,
        }
    }

    /// From here on packets are compressed.
    pub fn start_compression(&mut self, algorithm: Algorithm) {
        self.compressor = Some((Compressor::new(algorithm), Vec::new()));
    }

    /// The number of the next frame.
    pub fn sequence(&self) -> u8 {
        self.frames.sequence()
    }

    /// The number of the next compressed packet; `None` on a connection without compression.
    pub fn compressed_sequence(&self) -> Option<u8> {
        self.compressor
            .as_ref()
            .map(|(compressor, _)| compressor.sequence())
    }

    /// `compressed` is the number of the next compressed packet, if the connection is compressed.
    pub fn set_sequence(&mut self, sequence: u8, compressed: Option<u8>) {
        self.frames.set_sequence(sequence);
        if let (Some((compressor, _)), Some(sequence)) = (&mut self.compressor, compressed) {
            compressor.set_sequence(sequence);
        }
    }

    /// Removes the packet of a writer that panicked.
    pub fn abandon(&mut self) {
        self.frames.abandon();
    }

    /// Takes out the frames that have not been written; `spare` becomes the buffer for the next frames.
    pub fn take_frames(&mut self, spare: Vec<u8>) -> Vec<u8> {
        self.frames.take(spare)
    }

    /// Frees buffers while the client is idle.
    pub fn release_memory(&mut self) {
        self.frames.release();
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

/// Where a session's replies go: see [`PacketSink`].
pub struct Sink<'a> {
    pub output: &'a mut Output,
    pub transport: &'a mut Transport,
    pub reply: Option<&'a Arc<ConnectionReply>>,
    pub incoming: Incoming<'a>,
}

/// What the client sends while a command runs.
pub struct Incoming<'a> {
    /// Where the command is, which is in use.
    pub command: &'a Input,
    /// What continues after it; made when the first packet is waited for.
    pub behind: &'a mut Option<Box<Input>>,
    /// How long the client may pause.
    pub within: Duration,
}

impl Sink<'_> {
    fn write_when_full(&mut self) -> io::Result<()> {
        let is_pending = self.reply.is_some_and(|reply| reply.is_pending());
        if self.output.frames.bytes().len() >= WRITE_BYTES && !is_pending {
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

    fn defer_reply(&mut self) -> Option<Arc<dyn PendingReply>> {
        let reply = self.reply.filter(|_| self.output.frames.bytes().is_empty())?;
        reply.defer().then(|| Arc::clone(reply) as Arc<dyn PendingReply>)
    }

    fn append(&mut self, fill: &mut dyn FnMut(&mut FrameEncoder) -> bool) -> io::Result<()> {
        self.output.frames.append_if(fill);
        self.write_when_full()
    }

    fn receive(&mut self, payload: &mut Vec<u8>) -> io::Result<()> {
        self.flush()?;
        let Incoming {
            command,
            behind,
            within,
        } = &mut self.incoming;
        let input = behind.get_or_insert_with(|| Box::new(command.fork()));
        input.expect_reply(self.output.sequence(), self.output.compressed_sequence());
        self.transport.set_read_timeout(*within)?;
        match receive(input, self.transport, *within) {
            Ok(Received::Packet) => {}
            Ok(Received::Idle) => return Err(ErrorKind::TimedOut.into()),
            Ok(Received::Closed) => return Err(ErrorKind::UnexpectedEof.into()),
            Err(ReceiveError::Protocol(error)) => return Err(io::Error::other(error.message)),
            Err(ReceiveError::Io(error)) => return Err(error),
        }
        self.output
            .set_sequence(input.sequence(), input.compressed_sequence());
        payload.clear();
        payload.extend_from_slice(input.payload());
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_out(self.transport)?;
        self.transport.flush()
    }
}
