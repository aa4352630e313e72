//! Compressed tables inside the binary, unpacked when they are first used.

use std::io::Read;

/// Decompresses with zlib. The tables are part of the program, so this does not fail.
pub fn unpack(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let read = flate2::read::ZlibDecoder::new(data).read_to_end(&mut out);
    debug_assert!(read.is_ok(), "a table of the program is damaged");
    out
}

/// Numbers in LEB128, one after the other.
pub struct Numbers<'a> {
    rest: std::slice::Iter<'a, u8>,
}

impl<'a> Numbers<'a> {
    pub fn of(data: &'a [u8]) -> Self {
        Self { rest: data.iter() }
    }

    /// The next number; 0 at the end.
    pub fn next(&mut self) -> u32 {
        let (mut number, mut shift) = (0, 0);
        for byte in self.rest.by_ref() {
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
        number
    }

    /// The next number, which may be negative (zigzag).
    pub fn next_signed(&mut self) -> i32 {
        let number = self.next();
        (number >> 1) as i32 ^ -((number & 1) as i32)
    }
}
