//! Payloads to frames.

use super::{FRAME_BYTES_MAX, HEADER_BYTES};

/// Collects frames until they are written to the connection.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    buffer: Vec<u8>,
    sequence: u8,
    /// Where the payload starts that [`FrameEncoder::push_with`] is at.
    open: Option<usize>,
}

impl FrameEncoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The sequence number the next frame gets: 0 at the start of a command, one more than the last frame received
    /// when answering.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Appends one payload, cut into frames where it is long.
    pub fn push(&mut self, payload: &[u8]) {
        if payload.len() < FRAME_BYTES_MAX {
            self.buffer.reserve(HEADER_BYTES + payload.len());
            self.header(payload.len());
            self.buffer.extend_from_slice(payload);
        } else {
            self.push_long(payload);
        }
    }

    /// Appends one payload that `write` appends to the buffer it is given: nothing is copied twice unless the payload
    /// is longer than a frame.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        self.open = Some(start);
        self.header(0);
        let body = start + HEADER_BYTES;
        write(&mut self.buffer);
        self.open = None;
        // A writer may only append; one that cut the buffer short has an empty payload.
        let length = self.buffer.len().saturating_sub(body);
        if length < FRAME_BYTES_MAX {
            let bytes = (length as u32).to_le_bytes();
            if let Some(header) = self.buffer.get_mut(start..start + 3) {
                header.copy_from_slice(&bytes[..3]);
            }
        } else {
            let payload = self.buffer.split_off(body);
            self.buffer.truncate(start);
            self.sequence = self.sequence.wrapping_sub(1);
            self.push_long(&payload);
        }
    }

    fn push_long(&mut self, payload: &[u8]) {
        self.buffer
            .reserve(payload.len() + (payload.len() / FRAME_BYTES_MAX + 1) * HEADER_BYTES);
        let mut chunks = payload.chunks_exact(FRAME_BYTES_MAX);
        for chunk in &mut chunks {
            self.header(chunk.len());
            self.buffer.extend_from_slice(chunk);
        }
        // Ends the payload even where nothing is left of it.
        self.header(chunks.remainder().len());
        self.buffer.extend_from_slice(chunks.remainder());
    }

    fn header(&mut self, length: usize) {
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.buffer.extend_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Takes back a payload whose writer did not come to its end (it panicked).
    pub fn abandon(&mut self) {
        if let Some(start) = self.open.take() {
            self.buffer.truncate(start);
            self.sequence = self.sequence.wrapping_sub(1);
        }
    }

    /// The frames not written yet.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Gives memory back while nothing is sent for a while.
    pub fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
    }

    /// Forgets the frames: they have been written. Gives back memory that one large payload took.
    pub fn clear(&mut self) {
        const KEEP_BYTES: usize = 256 * 1024;
        self.buffer.clear();
        if self.buffer.capacity() > KEEP_BYTES {
            self.buffer.shrink_to(KEEP_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_was_not_finished_can_be_taken_back() {
        let mut encoder = FrameEncoder::new();
        encoder.push(b"a");
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            encoder.push_with(|out| {
                out.push(b'x');
                panic!("on purpose");
            });
        }));
        assert!(unwound.is_err());
        encoder.abandon();
        encoder.push(b"b");
        assert_eq!(encoder.bytes(), [1, 0, 0, 0, b'a', 1, 0, 0, 1, b'b']);
    }

    #[test]
    fn headers_count_up_and_wrap() {
        let mut encoder = FrameEncoder::new();
        encoder.set_sequence(255);
        encoder.push(b"ab");
        encoder.push_with(|out| out.push(b'c'));
        assert_eq!(encoder.bytes(), [2, 0, 0, 255, b'a', b'b', 1, 0, 0, 0, b'c']);
        assert_eq!(encoder.sequence(), 1);
    }
}
