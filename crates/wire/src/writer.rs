//! Appending the protocol's integers and strings to a payload. The other direction is [`crate::reader`].

/// The largest integer of variable length that takes one byte.
const LENENC_SHORT_MAX: usize = 250;

/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_data_types.html>
pub trait Writer {
    fn put_u8(&mut self, value: u8);
    fn put_u16(&mut self, value: u16);
    /// `int<3>`: the lower 24 bits.
    fn put_u24(&mut self, value: u32);
    fn put_u32(&mut self, value: u32);
    fn put_u64(&mut self, value: u64);
    fn put_zeros(&mut self, count: usize);
    fn put_bytes(&mut self, bytes: &[u8]);
    fn put_lenenc_int(&mut self, value: u64);
    fn put_lenenc_bytes(&mut self, bytes: &[u8]);
    /// `string<NUL>`. The bytes must not contain zeros.
    fn put_nul_bytes(&mut self, bytes: &[u8]);
}

impl Writer for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }

    fn put_u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u24(&mut self, value: u32) {
        let [a, b, c, _] = value.to_le_bytes();
        self.extend_from_slice(&[a, b, c]);
    }

    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    fn put_zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }

    #[inline]
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    #[inline]
    fn put_lenenc_int(&mut self, value: u64) {
        match value {
            0..=0xfa => self.push(value as u8),
            0xfb..=0xffff => {
                self.push(0xfc);
                self.put_u16(value as u16);
            }
            0x1_0000..=0xff_ffff => {
                self.push(0xfd);
                self.put_u24(value as u32);
            }
            _ => {
                self.push(0xfe);
                self.put_u64(value);
            }
        }
    }

    #[inline]
    fn put_lenenc_bytes(&mut self, bytes: &[u8]) {
        if bytes.len() > LENENC_SHORT_MAX {
            self.put_lenenc_int(bytes.len() as u64);
            return self.extend_from_slice(bytes);
        }
        // Reserves space for both at once.
        self.reserve(1 + bytes.len());
        self.push(bytes.len() as u8);
        self.extend_from_slice(bytes);
    }

    fn put_nul_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
        self.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lenenc_round_trip(value: u64, shift in 0u32..64, text: Vec<u8>) {
            let value = value >> shift;
            let mut out = Vec::new();
            out.put_lenenc_int(value);
            out.put_lenenc_bytes(&text);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.lenenc_int().unwrap(), value);
            prop_assert_eq!(reader.lenenc_bytes().unwrap(), &text[..]);
            prop_assert!(reader.is_empty());
        }
    }

    #[test]
    fn integers_take_the_shortest_form() {
        for (value, length) in [
            (250, 1),
            (251, 3),
            (65535, 3),
            (65536, 4),
            (0xff_ffff, 4),
            (0x100_0000, 9),
        ] {
            let mut out = Vec::new();
            out.put_lenenc_int(value);
            assert_eq!(out.len(), length, "{value}");
        }
    }
}
