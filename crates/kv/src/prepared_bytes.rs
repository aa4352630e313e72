//! Numbers and keys in the bytes that a prepared transaction is stored as.

use crate::error::{Error, Result};

pub fn put_number(number: usize, out: &mut Vec<u8>) -> Result<()> {
    let number = u32::try_from(number).map_err(|_| Error::NotPrepared)?;
    out.extend(number.to_be_bytes());
    Ok(())
}

pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    put_number(bytes.len(), out)?;
    out.extend(bytes);
    Ok(())
}

/// What of the stored bytes has not been read yet.
pub struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8> {
        self.take(1)?.first().copied().ok_or_else(damaged)
    }

    /// Checks the first byte.
    pub fn format(&mut self, known: u8) -> Result<()> {
        match self.byte()? {
            format if format == known => Ok(()),
            _ => Err(Error::Corrupt(
                "a prepared transaction has a format that this version does not read".into(),
            )),
        }
    }

    pub fn number(&mut self) -> Result<usize> {
        let bytes = <[u8; 4]>::try_from(self.take(4)?).map_err(|_| damaged())?;
        usize::try_from(u32::from_be_bytes(bytes)).map_err(|_| damaged())
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>> {
        let length = self.number()?;
        self.take(length).map(<[u8]>::to_vec)
    }
}

pub fn damaged() -> Error {
    Error::Corrupt("a prepared transaction cannot be read".into())
}
