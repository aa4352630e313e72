//! Reads numbers and texts from the bytes of an event. All integers of the log have their low byte first,
//! unless they are parts of a value that sorts by its bytes.

/// The log holds something else than it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        match self.0.split_at_checked(length) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => Err(Malformed::new(format!(
                "an event ends early: {length} bytes expected, {} left",
                self.0.len()
            ))),
        }
    }

    /// An unsigned integer of up to 8 bytes.
    pub(super) fn uint(&mut self, length: usize) -> Result<u64> {
        let taken = self.take(length)?;
        Ok(taken
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A signed integer of up to 8 bytes.
    pub(super) fn int(&mut self, length: usize) -> Result<i64> {
        let unused = 64 - 8 * length.min(8) as u32;
        Ok(((self.uint(length)? << unused) as i64) >> unused)
    }

    /// An unsigned integer with its high byte first.
    pub(super) fn big_endian(&mut self, length: usize) -> Result<u64> {
        let taken = self.take(length)?;
        Ok(taken.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.uint(1)? as u8)
    }

    /// The protocol's integer of 1 to 9 bytes.
    pub(super) fn length(&mut self) -> Result<usize> {
        let length = match self.byte()? {
            0xfc => self.uint(2)?,
            0xfd => self.uint(3)?,
            0xfe => self.uint(8)?,
            small => u64::from(small),
        };
        usize::try_from(length).map_err(|_| Malformed::new("a length beyond all memory"))
    }

    /// A name: its length in a byte, the text, a zero byte.
    pub(super) fn name(&mut self) -> Result<String> {
        let length = usize::from(self.byte()?);
        let name = self.take(length)?;
        self.take(1)?;
        Ok(String::from_utf8_lossy(name).into_owned())
    }
}
