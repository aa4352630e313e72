//! Reads the protocol's integers and strings from a payload, with a bounds check each.
//!
//! Every getter fails with [`malformed`] if the payload is too short: bytes from a client can never make
//! the server panic. The other direction is [`crate::writer`].

use types::{Error, Result};

/// MySQL's number for a payload that cannot be read: `ER_MALFORMED_PACKET`.
pub const ER_MALFORMED_PACKET: u16 = 1835;

/// Error 1835, as MySQL words it.
pub fn malformed() -> Error {
    Error::new(ER_MALFORMED_PACKET, "Malformed communication packet.")
}

/// A cursor over one payload.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_basic_data_types.html>
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// `string<EOF>`: the rest.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or_else(malformed)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or_else(malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// `int<3>`.
    pub fn u24(&mut self) -> Result<u32> {
        self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f32(&mut self) -> Result<f32> {
        self.array().map(f32::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// `int<lenenc>`. `0xfb` (NULL, in rows only) and `0xff` are malformed here.
    pub fn lenenc_int(&mut self) -> Result<u64> {
        match self.u8()? {
            byte @ 0..=0xfa => Ok(u64::from(byte)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            0xfb | 0xff => Err(malformed()),
        }
    }

    /// `string<lenenc>`.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = usize::try_from(self.lenenc_int()?).map_err(|_| malformed())?;
        self.bytes(length)
    }

    /// A value of a text row: `string<lenenc>`, or `0xfb` for NULL.
    pub fn lenenc_bytes_or_null(&mut self) -> Result<Option<&'a [u8]>> {
        if self.rest.first() == Some(&0xfb) {
            self.u8()?;
            return Ok(None);
        }
        self.lenenc_bytes().map(Some)
    }

    /// `string<NUL>`: the bytes before the terminator, which is consumed.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8]> {
        let end = self.rest.iter().position(|&b| b == 0).ok_or_else(malformed)?;
        let text = self.bytes(end)?;
        self.u8()?;
        Ok(text)
    }

    /// `string<NUL>` whose terminator may be missing at the very end, since some clients omit it.
    pub fn nul_bytes_or_rest(&mut self) -> &'a [u8] {
        match self.nul_bytes() {
            Ok(text) => text,
            Err(_) => self.rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_integers_of_all_widths() {
        let bytes = [
            0xfa, 0xfc, 0xfb, 0, 0xfd, 1, 2, 3, 0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80,
        ];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.lenenc_int().unwrap(), 250);
        assert_eq!(reader.lenenc_int().unwrap(), 251);
        assert_eq!(reader.lenenc_int().unwrap(), 0x03_02_01);
        assert_eq!(reader.lenenc_int().unwrap(), 1 | 0x80 << 56);
        assert!(reader.is_empty());
    }

    #[test]
    fn short_input_is_an_error_and_never_a_panic() {
        assert_eq!(Reader::new(&[]).u8().unwrap_err().code, ER_MALFORMED_PACKET);
        assert!(Reader::new(&[0xfe, 1, 2]).lenenc_int().is_err());
        assert!(Reader::new(&[0xfb]).lenenc_int().is_err());
        assert!(Reader::new(&[0xff]).lenenc_int().is_err());
        assert!(Reader::new(&[5, b'a']).lenenc_bytes().is_err());
        assert!(
            Reader::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255])
                .lenenc_bytes()
                .is_err()
        );
        assert!(Reader::new(b"abc").nul_bytes().is_err());
    }

    #[test]
    fn nul_terminated() {
        let mut reader = Reader::new(b"ab\0cd");
        assert_eq!(reader.nul_bytes().unwrap(), b"ab");
        assert_eq!(reader.nul_bytes_or_rest(), b"cd");
    }
}
