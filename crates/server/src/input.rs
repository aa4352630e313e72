//! A client's bytes to packets: decompression, framing, and the account of the memory that a packet takes
//! as it arrives.

use std::io;

use memory::{Account, Broker, Holder};
use prometheus::IntCounter;
use types::{Error, Result, errno};
use wire::compression::{Algorithm, Decompressor};
use wire::framing::{FrameDecoder, KEPT_BYTES};

use crate::transport::Transport;

/// One read of a compressed connection.
const READ_BYTES: usize = 16 * 1024;

/// Incoming packets of one connection.
pub struct Input {
    frames: FrameDecoder,
    compressed: Option<(Decompressor, Vec<u8>)>,
    bytes_received: IntCounter,
    broker: &'static Broker,
    /// Counts what the buffers hold beyond [`KEPT_BYTES`]. `None` while they hold no more than that, which is
    /// nearly always, so that a short command never touches the broker.
    account: Option<Account>,
}

impl Input {
    pub fn new(payload_bytes_max: usize, bytes_received: IntCounter, broker: &'static Broker) -> Self {
        Self {
            frames: FrameDecoder::new(payload_bytes_max),
            compressed: None,
            bytes_received,
            broker,
            account: None,
        }
    }

    /// An input that goes on after the current packet, which stays with this one: for packets that belong to
    /// a command that is still in use.
    pub fn fork(&self) -> Self {
        Self {
            frames: self.frames.fork(),
            compressed: self
                .compressed
                .as_ref()
                .map(|(decompressor, scratch)| (decompressor.fork(), scratch.clone())),
            bytes_received: self.bytes_received.clone(),
            broker: self.broker,
            account: None,
        }
    }

    /// From here on the client compresses.
    pub fn start_compression(&mut self, algorithm: Algorithm) {
        let mut decompressor = Decompressor::new(algorithm);
        // A client that does not wait for the reply to its login may have sent commands already.
        decompressor.feed(&self.frames.take_pending());
        self.frames.ignore_sequence();
        self.compressed = Some((decompressor, vec![0; READ_BYTES]));
    }

    /// The packet last received.
    pub fn payload(&self) -> &[u8] {
        self.frames.payload()
    }

    /// The bytes of an incomplete packet.
    pub fn pending(&self) -> &[u8] {
        self.frames.pending()
    }

    pub fn take_pending(&mut self) -> Vec<u8> {
        self.frames.take_pending()
    }

    pub fn has_pending(&self) -> bool {
        self.frames.has_pending() || self.compressed.as_ref().is_some_and(|(d, _)| d.has_pending())
    }

    pub fn set_payload_bytes_max(&mut self, bytes: usize) {
        self.frames.set_payload_bytes_max(bytes);
    }

    /// The number of the next frame.
    pub fn sequence(&self) -> u8 {
        self.frames.sequence()
    }

    pub fn set_sequence(&mut self, sequence: u8) {
        self.frames.set_sequence(sequence);
    }

    /// The number of the next compressed packet; `None` on a connection without compression.
    pub fn compressed_sequence(&self) -> Option<u8> {
        self.compressed
            .as_ref()
            .map(|(decompressor, _)| decompressor.sequence())
    }

    /// The next packet is the client's reply to packets with numbers below these.
    pub fn expect_reply(&mut self, sequence: u8, compressed: Option<u8>) {
        self.frames.set_sequence(sequence);
        if let (Some((decompressor, _)), Some(sequence)) = (&mut self.compressed, compressed) {
            decompressor.set_sequence(sequence);
        }
    }

    /// The next packet begins a command: numbers start at 0 in both layers.
    pub fn start_command(&mut self) {
        self.frames.set_sequence(0);
        if let Some((decompressor, _)) = &mut self.compressed {
            decompressor.set_sequence(0);
        }
    }

    /// Frees buffers while the client is idle.
    pub fn release_memory(&mut self) {
        self.frames.release();
    }

    /// Goes on to the next packet; `false` when more bytes are needed.
    ///
    /// # Errors
    /// As [`FrameDecoder::advance`], and 1041 if the process has no memory left for the packet. After any
    /// error the connection has to be closed. If the client is still writing, [`Input::skip`] reads the
    /// rest.
    pub fn advance(&mut self) -> Result<bool> {
        loop {
            if self.frames.advance()? {
                return Ok(true);
            }
            self.count_memory()?;
            if !self.decompress()? {
                return Ok(false);
            }
        }
    }

    /// Discards the bytes that have arrived of a refused packet; `true` at its end.
    pub fn skip(&mut self) -> Result<bool> {
        loop {
            if self.frames.skip() {
                return Ok(true);
            }
            // The discarded bytes go back to the budget. The rest of the packet needs little memory.
            let _ = self.count_memory();
            if !self.decompress()? {
                return Ok(false);
            }
        }
    }

    /// Unpacks one compressed packet into frames; `false` if there is none.
    fn decompress(&mut self) -> Result<bool> {
        match &mut self.compressed {
            Some((decompressor, _)) => decompressor.advance(|plain| self.frames.feed(plain)),
            None => Ok(false),
        }
    }

    /// One read.
    pub fn fill(&mut self, transport: &mut Transport) -> io::Result<usize> {
        let count = match &mut self.compressed {
            None => {
                let count = io::Read::read(transport, self.frames.spare())?;
                self.frames.filled(count);
                count
            }
            Some((decompressor, scratch)) => {
                let count = io::Read::read(transport, scratch)?;
                decompressor.feed(scratch.get(..count).unwrap_or_default());
                count
            }
        };
        self.bytes_received.inc_by(count as u64);
        Ok(count)
    }

    /// Counts what the buffers hold. They grow by a few megabytes at most until they are counted again.
    fn count_memory(&mut self) -> Result<()> {
        let compressed = self.compressed.as_ref().map_or(0, |(d, _)| d.held_bytes());
        let bytes = self.frames.held_bytes() + compressed;
        if bytes > KEPT_BYTES {
            return self.count_large(bytes - KEPT_BYTES);
        }
        if self.account.is_some() {
            self.account = None;
        }
        Ok(())
    }

    #[cold]
    fn count_large(&mut self, bytes: usize) -> Result<()> {
        let account = self
            .account
            .get_or_insert_with(|| Account::new(self.broker, Holder::Packet, usize::MAX));
        account.resize(bytes, None).map_err(|_| out_of_memory())
    }
}

/// Error 1041, which MySQL sends when it cannot allocate a buffer for a packet.
fn out_of_memory() -> Error {
    Error::new(
        errno::ER_OUT_OF_RESOURCES,
        "Out of memory: the server has no room left for a packet of this size; send it again while fewer large statements run, \
         send less at a time, or raise [memory] limit_bytes",
    )
}
