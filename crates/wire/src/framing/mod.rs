//! Packets: how payloads are cut into frames and assembled again.
//!
//! A frame is a header (three bytes of length, one sequence number) and up to 16 MiB - 1 bytes. A payload
//! of that size or more continues in the next frame, and ends with the first shorter frame.
//!
//! [`FrameDecoder`] takes bytes as they arrive and returns payloads. [`FrameEncoder`] collects frames to be
//! written. Neither does I/O. The compressed protocol, a layer below, is [`crate::compression`].
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_packets.html>

mod decoder;
mod encoder;

pub use decoder::{FrameDecoder, KEPT_BYTES};
pub use encoder::FrameEncoder;

/// Length and sequence number.
pub const HEADER_BYTES: usize = 4;

/// The longest frame; a frame of this length is continued by the next.
pub const FRAME_BYTES_MAX: usize = 0xff_ffff;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode_all(decoder: &mut FrameDecoder, mut bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut payloads = Vec::new();
        while !bytes.is_empty() {
            let spare = decoder.spare();
            let count = bytes.len().min(step).min(spare.len());
            spare[..count].copy_from_slice(&bytes[..count]);
            decoder.filled(count);
            bytes = &bytes[count..];
            while decoder.advance().unwrap() {
                payloads.push(decoder.payload().to_vec());
            }
        }
        payloads
    }

    proptest! {
        #[test]
        fn round_trip_in_any_pieces(
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..20),
            step in 1usize..700,
        ) {
            let mut encoder = FrameEncoder::new();
            for payload in &payloads {
                encoder.push(payload);
            }
            let mut decoder = FrameDecoder::new(1 << 20);
            prop_assert_eq!(decode_all(&mut decoder, encoder.bytes(), step), payloads);
        }

        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>) {
            let mut decoder = FrameDecoder::new(100);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let spare = decoder.spare();
                let count = rest.len().min(spare.len());
                spare[..count].copy_from_slice(&rest[..count]);
                decoder.filled(count);
                rest = &rest[count..];
                while let Ok(true) = decoder.advance() {}
            }
        }
    }

    #[test]
    fn payloads_around_the_frame_limit() {
        for length in [
            FRAME_BYTES_MAX - 1,
            FRAME_BYTES_MAX,
            FRAME_BYTES_MAX + 1,
            2 * FRAME_BYTES_MAX,
        ] {
            let payload = vec![7u8; length];
            let mut encoder = FrameEncoder::new();
            encoder.push(&payload);
            encoder.push(b"next");
            let frames = length / FRAME_BYTES_MAX + 1;
            assert_eq!(
                encoder.bytes().len(),
                length + frames * HEADER_BYTES + HEADER_BYTES + 4
            );
            let mut in_place = FrameEncoder::new();
            in_place.push_with(|out| out.extend_from_slice(&payload));
            in_place.push(b"next");
            assert!(in_place.bytes() == encoder.bytes());
            let mut decoder = FrameDecoder::new(64 << 20);
            let decoded = decode_all(&mut decoder, encoder.bytes(), 1 << 20);
            assert_eq!(decoded.len(), 2);
            assert!(decoded[0] == payload);
            assert_eq!(decoded[1], b"next");
        }
    }
}
