//! What of a transaction any process needs to end it ([`crate::detached`]), as it is stored:
//!
//! ```text
//! {format: 2} {start timestamp: 8} {length: 4} {primary} {number of keys: 4} { {length: 4} {key} }
//! ```
//!
//! Numbers are big-endian.

use crate::error::Result;
use crate::prepared_bytes::{Rest, damaged, put_bytes, put_number};
use crate::timestamp::Timestamp;

const FORMAT: u8 = 2;

/// What identifies a transaction that is detached from its process, and where it has left locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    pub start_ts: Timestamp,
    /// Only this transaction ever locks it. It decides the outcome.
    pub primary: Vec<u8>,
    /// All keys but the primary, in order.
    pub keys: Vec<Vec<u8>>,
}

/// How a detached transaction has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetachedEnd {
    Committed(Timestamp),
    RolledBack,
}

impl DetachedEnd {
    pub fn is_committed(self) -> bool {
        matches!(self, Self::Committed(_))
    }
}

impl Detached {
    /// # Errors
    /// [`crate::Error::NotPrepared`] for a key that is too long to be one.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let bytes: usize = self.keys.iter().map(|key| key.len() + 4).sum();
        let mut out = Vec::with_capacity(bytes + self.primary.len() + 17);
        out.push(FORMAT);
        out.extend(self.start_ts.to_be_bytes());
        put_bytes(&self.primary, &mut out)?;
        put_number(self.keys.len(), &mut out)?;
        for key in &self.keys {
            put_bytes(key, &mut out)?;
        }
        Ok(out)
    }

    /// # Errors
    /// [`crate::Error::Corrupt`]
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut rest = Rest(bytes);
        rest.format(FORMAT)?;
        let start_ts = <[u8; 8]>::try_from(rest.take(8)?).map_err(|_| damaged())?;
        let primary = rest.bytes()?;
        // Not by the number that is stored: it may be damaged.
        let mut keys = Vec::new();
        for _ in 0..rest.number()? {
            keys.push(rest.bytes()?);
        }
        match rest.0.is_empty() {
            true => Ok(Self {
                start_ts: Timestamp::from_be_bytes(start_ts),
                primary,
                keys,
            }),
            false => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_broken_ones_are_refused() {
        let detached = Detached {
            start_ts: 77,
            primary: b"p".to_vec(),
            keys: vec![b"a".to_vec(), Vec::new(), vec![0xFF; 300]],
        };
        let bytes = detached.encode().unwrap();
        assert_eq!(Detached::decode(&bytes), Ok(detached));
        for end in 0..bytes.len() {
            assert!(Detached::decode(&bytes[..end]).is_err(), "{end} bytes");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xFF;
            // Whatever it says now, it does not panic.
            let _ = Detached::decode(&broken);
        }
        assert!(Detached::decode(&[bytes, vec![0]].concat()).is_err());
    }
}
