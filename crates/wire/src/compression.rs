//! The compressed protocol: a layer between framing and the network, in both directions, without I/O.
//!
//! A compressed packet is a header (three bytes of length, one sequence number of its own, three bytes of
//! the length before compression) and bytes. A length of 0 before compression means that the bytes are not
//! compressed. The packets carry a plain stream of [`crate::framing`]'s frames; frames may be split
//! anywhere between packets.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_compression_packet.html>

use std::io::{Read, Write};

use types::{Error, Result, errno};

use crate::reader::malformed;
use crate::writer::Writer;

/// Length, sequence number, length before compression.
pub const HEADER_BYTES: usize = 7;

/// Shorter pieces are not compressed, as in MySQL (`MIN_COMPRESS_LENGTH`).
const COMPRESS_BYTES_MIN: usize = 50;

/// The longest compressed packet.
const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// Both sides agree on an algorithm in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Level 6, as MySQL's clients and servers use.
    Zlib,
    /// Level 1 to 22, chosen by the client.
    Zstd { level: i32 },
}

impl Algorithm {
    /// The name in `@@protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd { .. } => "zstd",
        }
    }
}

/// Plain bytes to compressed packets.
pub struct Compressor {
    algorithm: Algorithm,
    sequence: u8,
}

impl Compressor {
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            sequence: 0,
        }
    }

    /// The next packet's number: 0 at the start of a command, one more than the last received packet in a
    /// reply.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Appends `plain` to `out` as compressed packets.
    pub fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
        for chunk in plain.chunks(PACKET_BYTES_MAX) {
            let start = out.len();
            out.put_zeros(HEADER_BYTES);
            let mut plain_length = 0;
            if chunk.len() >= COMPRESS_BYTES_MIN {
                self.append_compressed(chunk, out)?;
                plain_length = chunk.len();
            }
            if plain_length == 0 || out.len() - start - HEADER_BYTES >= chunk.len() {
                // Compression did not pay: random bytes, or too few.
                out.truncate(start + HEADER_BYTES);
                out.extend_from_slice(chunk);
                plain_length = 0;
            }
            let length = (out.len() - start - HEADER_BYTES) as u32;
            let [a, b, c, _] = length.to_le_bytes();
            let [d, e, f, _] = (plain_length as u32).to_le_bytes();
            if let Some(header) = out.get_mut(start..start + HEADER_BYTES) {
                header.copy_from_slice(&[a, b, c, self.sequence, d, e, f]);
            }
            self.sequence = self.sequence.wrapping_add(1);
        }
        Ok(())
    }

    fn append_compressed(&self, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match self.algorithm {
            Algorithm::Zlib => {
                let mut encoder = flate2::write::ZlibEncoder::new(out, flate2::Compression::new(6));
                encoder.write_all(chunk).and_then(|()| encoder.finish().map(drop))
            }
            Algorithm::Zstd { level } => zstd::stream::copy_encode(chunk, out, level),
        }
        .map_err(|error| Error::internal(format_args!("compressing a packet: {error}")))
    }
}

/// Compressed packets to plain bytes.
pub struct Decompressor {
    algorithm: Algorithm,
    sequence: u8,
    /// A packet that has not arrived completely.
    pending: Vec<u8>,
    consumed: usize,
}

impl Decompressor {
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            sequence: 0,
            pending: Vec::new(),
            consumed: 0,
        }
    }

    /// A decompressor that continues with the bytes that have not been unpacked yet.
    pub fn fork(&self) -> Self {
        Self {
            algorithm: self.algorithm,
            sequence: self.sequence,
            pending: self.pending.get(self.consumed..).unwrap_or_default().to_vec(),
            consumed: 0,
        }
    }

    /// The sequence number expected next.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Memory that the incomplete packet takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.pending.len()
    }

    pub fn has_pending(&self) -> bool {
        self.consumed < self.pending.len()
    }

    /// Takes bytes from the network.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.pending.drain(..self.consumed);
            self.consumed = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// Unpacks the next complete packet and passes its bytes to `sink`; `false` when more bytes are needed.
    ///
    /// Fails with 1156 on a wrong sequence number, and with 1157 on data that cannot be uncompressed or has
    /// another length than the header says. The memory used is bounded by the header's length, 16 MiB - 1
    /// at most.
    pub fn advance(&mut self, sink: impl FnOnce(&[u8])) -> Result<bool> {
        let arrived = self.pending.get(self.consumed..).unwrap_or_default();
        let Some((&[a, b, c, sequence, d, e, f], body)) = arrived.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(false);
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let plain_length = u32::from_le_bytes([d, e, f, 0]) as usize;
        if sequence != self.sequence {
            return Err(Error::new(
                errno::ER_NET_PACKETS_OUT_OF_ORDER,
                "Got packets out of order",
            ));
        }
        let Some(body) = body.get(..length) else {
            return Ok(false);
        };
        if plain_length == 0 {
            sink(body);
        } else {
            sink(&self.uncompress(body, plain_length)?);
        }
        self.sequence = sequence.wrapping_add(1);
        self.consumed += HEADER_BYTES + length;
        Ok(true)
    }

    fn uncompress(&self, body: &[u8], plain_length: usize) -> Result<Vec<u8>> {
        let mut plain = Vec::new();
        // One byte more than the header's length is enough to detect a wrong header. The vector grows with
        // the data, so memory follows what really arrived.
        let limit = plain_length as u64 + 1;
        match self.algorithm {
            Algorithm::Zlib => flate2::read::ZlibDecoder::new(body)
                .take(limit)
                .read_to_end(&mut plain),
            Algorithm::Zstd { .. } => {
                zstd::stream::read::Decoder::with_buffer(body).and_then(|mut decoder| {
                    // No packet needs a larger window, which would take memory.
                    decoder.window_log_max(24)?;
                    decoder.take(limit).read_to_end(&mut plain)
                })
            }
        }
        .map_err(|_| uncompress_error())?;
        if plain.len() == plain_length {
            Ok(plain)
        } else {
            Err(malformed())
        }
    }
}

fn uncompress_error() -> Error {
    const ER_NET_UNCOMPRESS_ERROR: u16 = 1157;
    Error::new(
        ER_NET_UNCOMPRESS_ERROR,
        "Couldn't uncompress communication packet",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALGORITHMS: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd { level: 3 }];

    fn unpack(algorithm: Algorithm, bytes: &[u8], step: usize) -> Result<Vec<u8>> {
        let mut decompressor = Decompressor::new(algorithm);
        let mut plain = Vec::new();
        for piece in bytes.chunks(step) {
            decompressor.feed(piece);
            while decompressor.advance(|bytes| plain.extend_from_slice(bytes))? {}
        }
        Ok(plain)
    }

    proptest! {
        #[test]
        fn round_trip(pieces in proptest::collection::vec((any::<u8>(), 0usize..5000, any::<bool>()), 1..6), step in 1usize..3000) {
            for algorithm in ALGORITHMS {
                let (mut out, mut plain) = (Vec::new(), Vec::new());
                let mut compressor = Compressor::new(algorithm);
                for (byte, length, same) in &pieces {
                    let piece: Vec<u8> =
                        (0..*length).map(|i| if *same { *byte } else { (i * 7919 % 251) as u8 ^ byte }).collect();
                    compressor.compress(&piece, &mut out).unwrap();
                    plain.extend(piece);
                }
                prop_assert_eq!(unpack(algorithm, &out, step).unwrap(), plain);
            }
        }

        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>, valid_header: bool) {
            for algorithm in ALGORITHMS {
                let mut packet = bytes.clone();
                if valid_header && packet.len() >= HEADER_BYTES {
                    let length = (packet.len() - HEADER_BYTES) as u32;
                    packet[..3].copy_from_slice(&length.to_le_bytes()[..3]);
                    packet[3] = 0;
                }
                let _ = unpack(algorithm, &packet, 64);
            }
        }
    }

    #[test]
    fn short_packets_travel_as_they_are() {
        let mut out = Vec::new();
        Compressor::new(Algorithm::Zlib)
            .compress(b"\x01\0\0\0\x0e", &mut out)
            .unwrap();
        assert_eq!(out, [5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x0e]);
    }

    #[test]
    fn a_packet_that_lies_about_its_length_is_refused() {
        for algorithm in ALGORITHMS {
            let mut out = Vec::new();
            Compressor::new(algorithm).compress(&[0; 1000], &mut out).unwrap();
            for wrong in [999u16, 1001] {
                out[4..6].copy_from_slice(&wrong.to_le_bytes());
                assert!(unpack(algorithm, &out, 1000).is_err());
            }
        }
    }

    /// The manual's example: `select "012345678901234567890123456789012345"` compressed by zlib.
    #[test]
    fn a_captured_packet() {
        let packet: &[u8] = &[
            0x22, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00, 0x78, 0x9c, 0xd3, 0x63, 0x60, 0x60, 0x60, 0x2e, 0x4e,
            0xcd, 0x49, 0x4d, 0x2e, 0x51, 0x50, 0x32, 0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xb7, 0xb0,
            0xc4, 0xcd, 0x52, 0x02, 0x00, 0x0c, 0xd1, 0x0a, 0x6c,
        ];
        let plain = unpack(Algorithm::Zlib, packet, 5).unwrap();
        assert_eq!(
            plain,
            b"\x2e\0\0\0\x03select \"012345678901234567890123456789012345\""
        );
    }
}
