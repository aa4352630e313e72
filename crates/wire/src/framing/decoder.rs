//! Frames to payloads.

use types::{Error, Result, errno};

use super::{FRAME_BYTES_MAX, HEADER_BYTES};

/// Space offered to one read.
const READ_BYTES: usize = 16 * 1024;
/// The most memory that a decoder's buffer keeps between commands.
pub const KEPT_BYTES: usize = 256 * 1024;

/// Assembles payloads from bytes as they arrive.
///
/// Use: write into [`spare`](Self::spare), report the number of bytes to [`filled`](Self::filled), then
/// call [`advance`](Self::advance) until it returns `false`. Each `true` leaves a payload in
/// [`payload`](Self::payload).
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that have been filled.
    end: usize,
    /// Where the first unconsumed frame starts.
    start: usize,
    /// The position of the current payload in `buffer`, unless it is in `assembled`.
    payload: (usize, usize),
    /// A payload that took more than one frame.
    assembled: Vec<u8>,
    is_assembled: bool,
    /// Whether the next frame continues a payload.
    continues: bool,
    sequence: u8,
    checks_sequence: bool,
    payload_bytes_max: usize,
    /// Bytes of the current frame that [`FrameDecoder::skip`] has not discarded yet.
    skipping: usize,
}

impl FrameDecoder {
    /// `payload_bytes_max` is `max_allowed_packet`.
    pub fn new(payload_bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            end: 0,
            start: 0,
            payload: (0, 0),
            assembled: Vec::new(),
            is_assembled: false,
            continues: false,
            sequence: 0,
            checks_sequence: true,
            payload_bytes_max,
            skipping: 0,
        }
    }

    /// A decoder that continues with the bytes after the current payload. The payload stays with this one.
    pub fn fork(&self) -> Self {
        let pending = self.pending().to_vec();
        Self {
            end: pending.len(),
            buffer: pending,
            sequence: self.sequence,
            checks_sequence: self.checks_sequence,
            ..Self::new(self.payload_bytes_max)
        }
    }

    pub fn set_payload_bytes_max(&mut self, bytes: usize) {
        self.payload_bytes_max = bytes;
    }

    /// Accepts frames with any number. Inside a compressed stream the compressed packets are numbered too,
    /// and clients count the frames differently: Connector/C continues the compressed packets' numbers.
    pub fn ignore_sequence(&mut self) {
        self.checks_sequence = false;
    }

    /// The sequence number expected next: a command starts at 0.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Whether there are bytes of an incomplete payload.
    pub fn has_pending(&self) -> bool {
        self.start < self.end || self.continues
    }

    /// Memory that the buffers take, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.buffer.len() + self.assembled.len()
    }

    /// Frees a large buffer of which every byte has been consumed.
    fn shrink(&mut self) {
        if self.start == self.end && self.buffer.len() > KEPT_BYTES {
            self.start = 0;
            self.end = 0;
            self.payload = (0, 0);
            self.buffer.truncate(READ_BYTES);
            self.buffer.shrink_to(READ_BYTES);
        }
    }

    /// Frees the buffer while no bytes are expected for a while.
    pub fn release(&mut self) {
        if !self.has_pending() {
            self.buffer = Vec::new();
            self.start = 0;
            self.end = 0;
            self.payload = (0, 0);
        }
    }

    /// Removes and returns the bytes of an incomplete payload. They are not frames: TLS begins.
    pub fn take_pending(&mut self) -> Vec<u8> {
        let pending = self.buffer.get(self.start..self.end).unwrap_or_default().to_vec();
        self.start = 0;
        self.end = 0;
        self.payload = (0, 0);
        pending
    }

    /// The bytes of an incomplete payload.
    pub fn pending(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Space for the next bytes; at least one byte. Discards the current payload.
    pub fn spare(&mut self) -> &mut [u8] {
        self.payload = (0, 0);
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // The rest of a frame is read in large pieces, but memory follows what has really arrived: a header
        // alone must not make the server allocate 16 MiB.
        let wanted = READ_BYTES.max(self.end.min(4 * 1024 * 1024));
        if self.buffer.len() < self.end + READ_BYTES {
            self.buffer.resize(self.end + wanted, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// `count` bytes have been written to the front of [`spare`](Self::spare).
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// Appends bytes that come from a buffer instead of the network (decompressed ones).
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let spare = self.spare();
            let count = spare.len().min(rest.len());
            let (now, later) = rest.split_at(count);
            spare[..count].copy_from_slice(now);
            self.filled(count);
            rest = later;
        }
    }

    /// Goes on to the next payload; `false` when more bytes are needed.
    ///
    /// Fails with 1156 on a wrong sequence number, and with 1153 on a payload beyond the limit. After
    /// either the connection has to be closed. After the latter, [`skip`](Self::skip) reads to where the
    /// client expects a reply.
    pub fn advance(&mut self) -> Result<bool> {
        if !self.continues {
            self.is_assembled = false;
            self.assembled = Vec::new();
        }
        loop {
            let arrived = &self.buffer[self.start..self.end];
            let Some((&[a, b, c, sequence], body)) = arrived.split_first_chunk::<HEADER_BYTES>() else {
                self.shrink();
                return Ok(false);
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if self.checks_sequence && sequence != self.sequence {
                return Err(Error::new(
                    errno::ER_NET_PACKETS_OUT_OF_ORDER,
                    "Got packets out of order",
                ));
            }
            if self.assembled.len() + length > self.payload_bytes_max {
                return Err(Error::new(
                    errno::ER_NET_PACKET_TOO_LARGE,
                    "Got a packet bigger than 'max_allowed_packet' bytes",
                ));
            }
            let Some(body) = body.get(..length) else {
                return Ok(false);
            };
            let body_start = self.start + HEADER_BYTES;
            self.sequence = sequence.wrapping_add(1);
            if length == FRAME_BYTES_MAX || self.continues {
                self.assembled.extend_from_slice(body);
                self.is_assembled = true;
            } else {
                self.payload = (body_start, body_start + length);
            }
            self.start = body_start + length;
            self.continues = length == FRAME_BYTES_MAX;
            if !self.continues {
                return Ok(true);
            }
        }
    }

    /// Discards the bytes of a payload that was refused before it was complete; `true` at its end. A client
    /// reads the reply only after it has written the whole payload, and the reply must continue the frame
    /// numbers.
    pub fn skip(&mut self) -> bool {
        self.assembled = Vec::new();
        loop {
            let arrived = self.end - self.start;
            let skipped = self.skipping.min(arrived);
            self.start += skipped;
            self.skipping -= skipped;
            if self.skipping > 0 {
                self.shrink();
                return false;
            }
            if self.is_assembled && !self.continues {
                return true;
            }
            let header = self.buffer.get(self.start..self.end).unwrap_or_default();
            let Some(&[a, b, c, sequence]) = header.first_chunk::<HEADER_BYTES>() else {
                return false;
            };
            self.skipping = u32::from_le_bytes([a, b, c, 0]) as usize;
            self.start += HEADER_BYTES;
            self.sequence = sequence.wrapping_add(1);
            self.continues = self.skipping == FRAME_BYTES_MAX;
            // From here on `is_assembled` says that a header has been seen, and that there is no payload.
            self.is_assembled = true;
        }
    }

    /// The payload that the last successful [`advance`](Self::advance) found.
    pub fn payload(&self) -> &[u8] {
        if self.is_assembled {
            &self.assembled
        } else {
            self.buffer
                .get(self.payload.0..self.payload.1)
                .unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_is_ignored_where_asked() {
        let mut decoder = FrameDecoder::new(1000);
        decoder.ignore_sequence();
        decoder.feed(b"\x01\x00\x00\x05x");
        assert!(decoder.advance().unwrap());
        assert_eq!(decoder.payload(), b"x");
    }

    #[test]
    fn sequence_is_checked() {
        let mut decoder = FrameDecoder::new(100);
        decoder.feed(&[1, 0, 0, 1, b'x']);
        assert_eq!(decoder.advance().unwrap_err().code, 1156);
    }

    #[test]
    fn too_long_a_payload_is_refused_by_its_header_alone() {
        let mut decoder = FrameDecoder::new(100);
        decoder.feed(&[101, 0, 0, 0]);
        assert_eq!(decoder.advance().unwrap_err().code, 1153);
        let mut decoder = FrameDecoder::new(100);
        decoder.feed(&[100, 0, 0, 0]);
        assert!(!decoder.advance().unwrap());
    }

    #[test]
    fn a_payload_that_is_too_long_is_skipped_to_its_end() {
        let mut decoder = FrameDecoder::new(100);
        decoder.feed(&[101, 0, 0, 0, 1, 2, 3]);
        assert_eq!(decoder.advance().unwrap_err().code, 1153);
        assert!(!decoder.skip());
        decoder.feed(&[0; 98]);
        assert!(decoder.skip());
        assert_eq!((decoder.sequence(), decoder.has_pending()), (1, false));

        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX - 1);
        decoder.feed(&[255, 255, 255, 0]);
        assert_eq!(decoder.advance().unwrap_err().code, 1153);
        decoder.feed(&vec![0; FRAME_BYTES_MAX]);
        assert!(!decoder.skip());
        decoder.feed(&[0, 0, 0, 1]);
        assert!(decoder.skip());
        assert_eq!(decoder.sequence(), 2);

        // The frame that goes beyond the limit is not the first one.
        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX + 1);
        decoder.feed(&[255, 255, 255, 0]);
        decoder.feed(&vec![0; FRAME_BYTES_MAX]);
        assert!(!decoder.advance().unwrap());
        decoder.feed(&[2, 0, 0, 1, 7]);
        assert_eq!(decoder.advance().unwrap_err().code, 1153);
        assert!(!decoder.skip());
        decoder.feed(&[7]);
        assert!(decoder.skip());
        assert_eq!(decoder.sequence(), 2);
    }

    #[test]
    fn released_memory_loses_nothing() {
        let mut decoder = FrameDecoder::new(100);
        decoder.feed(&[1, 0, 0, 0, b'x', 1, 0]);
        assert!(decoder.advance().unwrap());
        decoder.release();
        decoder.feed(&[0, 1, b'y']);
        assert!(decoder.advance().unwrap());
        assert_eq!(decoder.payload(), b"y");
        decoder.release();
        assert_eq!(decoder.buffer.capacity(), 0);
        decoder.set_sequence(0);
        decoder.feed(&[1, 0, 0, 0, b'z']);
        assert!(decoder.advance().unwrap());
        assert_eq!(decoder.payload(), b"z");
    }

    #[test]
    fn a_payload_of_several_frames_is_limited_as_a_whole() {
        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX + 10);
        decoder.feed(&[255, 255, 255, 0]);
        decoder.feed(&vec![0; FRAME_BYTES_MAX]);
        assert!(!decoder.advance().unwrap());
        // The frame is in memory once.
        assert!(decoder.held_bytes() <= FRAME_BYTES_MAX + KEPT_BYTES);
        decoder.feed(&[11, 0, 0, 1]);
        assert_eq!(decoder.advance().unwrap_err().code, 1153);
    }

    #[test]
    fn a_large_packet_leaves_no_memory_behind() {
        let mut decoder = FrameDecoder::new(4 * FRAME_BYTES_MAX);
        let large = [
            &b"\xff\xff\xff\x00"[..],
            &vec![b'x'; FRAME_BYTES_MAX],
            b"\x01\x00\x00\x01y",
        ]
        .concat();
        decoder.feed(&large);
        assert!(decoder.advance().unwrap());
        assert!(decoder.held_bytes() > FRAME_BYTES_MAX);
        assert!(!decoder.advance().unwrap());
        assert!(decoder.held_bytes() <= KEPT_BYTES);
        // Likewise a packet that is discarded before it is complete.
        decoder.set_sequence(0);
        decoder.feed(&large[..FRAME_BYTES_MAX / 2]);
        assert!(!decoder.advance().unwrap());
        assert!(!decoder.skip());
        assert!(decoder.held_bytes() <= KEPT_BYTES);
        decoder.feed(&large[FRAME_BYTES_MAX / 2..]);
        assert!(decoder.skip());
        decoder.set_sequence(0);
        decoder.feed(b"\x01\x00\x00\x00z");
        assert!(decoder.advance().unwrap());
        assert_eq!(decoder.payload(), b"z");
    }
}
