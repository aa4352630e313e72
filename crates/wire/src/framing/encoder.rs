//! Payloads to frames.

use super::{FRAME_BYTES_MAX, HEADER_BYTES};

/// Collects frames until they are written to the connection.
#[derive(Debug, Default)]
pub struct FrameEncoder {
    buffer: Vec<u8>,
    sequence: u8,
    /// Where the payload starts that [`FrameEncoder::push_with`] is writing.
    open: Option<usize>,
}

impl FrameEncoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// The sequence number of the next frame: 0 at the start of a command, one more than the last received
    /// frame in a reply.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Appends one payload, cut into frames if it is long.
    #[inline]
    pub fn push(&mut self, payload: &[u8]) {
        if payload.len() < FRAME_BYTES_MAX {
            self.buffer.reserve(HEADER_BYTES + payload.len());
            self.header(payload.len());
            self.buffer.extend_from_slice(payload);
        } else {
            self.push_long(payload);
        }
    }

    /// Takes all frames out. The next frames go to `buffer`, which is cleared.
    pub fn take(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        self.open = None;
        std::mem::replace(&mut self.buffer, buffer)
    }

    /// Appends the frames of another encoder.
    pub fn push_frames(&mut self, frames: &Self) {
        let mut at = self.buffer.len();
        self.buffer.extend_from_slice(&frames.buffer);
        while let Some([a, b, c, sequence]) = self.buffer.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *sequence = self.sequence;
            self.sequence = self.sequence.wrapping_add(1);
            at += HEADER_BYTES + u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        }
    }

    /// Runs `fill`, which appends payloads, and removes them if it returns false.
    pub fn append_if(&mut self, fill: impl FnOnce(&mut Self) -> bool) {
        let (length, sequence) = (self.buffer.len(), self.sequence);
        if !fill(self) {
            self.buffer.truncate(length);
            self.sequence = sequence;
        }
    }

    /// Appends the payload that `write` appends to the given buffer. Nothing is copied unless the payload
    /// is longer than a frame.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        self.open = Some(start);
        self.header(0);
        let body = start + HEADER_BYTES;
        write(&mut self.buffer);
        self.open = None;
        // A writer may only append. If it has truncated the buffer, its payload is empty.
        let length = self.buffer.len().saturating_sub(body);
        if length < FRAME_BYTES_MAX {
            let bytes = (length as u32).to_le_bytes();
            if let Some(header) = self.buffer.get_mut(start..start + 3) {
                header.copy_from_slice(&bytes[..3]);
            }
        } else {
            self.cut(start);
        }
    }

    /// Cuts the last payload, which starts at `start`, into frames.
    #[cold]
    fn cut(&mut self, start: usize) {
        let payload = self.buffer.split_off(start + HEADER_BYTES);
        self.buffer.truncate(start);
        self.sequence = self.sequence.wrapping_sub(1);
        self.push_long(&payload);
    }

    #[cold]
    fn push_long(&mut self, payload: &[u8]) {
        self.buffer
            .reserve(payload.len() + (payload.len() / FRAME_BYTES_MAX + 1) * HEADER_BYTES);
        let mut chunks = payload.chunks_exact(FRAME_BYTES_MAX);
        for chunk in &mut chunks {
            self.header(chunk.len());
            self.buffer.extend_from_slice(chunk);
        }
        // A last frame ends the payload even if it is empty.
        self.header(chunks.remainder().len());
        self.buffer.extend_from_slice(chunks.remainder());
    }

    #[inline]
    fn header(&mut self, length: usize) {
        let [a, b, c, _] = (length as u32).to_le_bytes();
        self.buffer.extend_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Removes the payload of a writer that panicked.
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

    /// Frees the buffer while nothing is sent for a while.
    pub fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
    }

    /// Removes the frames after they were written. Frees the memory of a large payload.
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
    fn removed_frames_are_not_counted() {
        let mut encoder = FrameEncoder::new();
        encoder.push(b"a");
        for keep in [false, true] {
            encoder.append_if(|frames| {
                frames.push(b"b");
                frames.push_with(|out| out.push(b'c'));
                keep
            });
        }
        assert_eq!(
            encoder.bytes(),
            [1, 0, 0, 0, b'a', 1, 0, 0, 1, b'b', 1, 0, 0, 2, b'c']
        );
    }

    #[test]
    fn frames_are_numbered_anew() {
        let (mut encoder, mut others) = (FrameEncoder::new(), FrameEncoder::new());
        others.push(b"bc");
        others.push(b"");
        encoder.set_sequence(254);
        encoder.push(b"a");
        encoder.push_frames(&others);
        encoder.push(b"d");
        assert_eq!(
            encoder.bytes(),
            [
                1, 0, 0, 254, b'a', 2, 0, 0, 255, b'b', b'c', 0, 0, 0, 0, 1, 0, 0, 1, b'd'
            ]
        );
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
