//! BIT_AND, BIT_OR and BIT_XOR of the binary strings of many groups.

use types::{Error, Result, errno};

use super::AggregateFunction;

/// The longest binary strings, in bytes, that these functions take.
pub(super) const LONGEST: u32 = 511;

#[derive(Debug)]
pub(super) struct BinaryBits {
    function: AggregateFunction,
    /// The length of a group's result if it has no value.
    length: usize,
    values: Vec<Option<Vec<u8>>>,
}

impl BinaryBits {
    pub fn new(function: AggregateFunction, length: usize) -> Self {
        Self {
            function,
            length,
            values: Vec::new(),
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.values.resize(groups.max(self.values.len()), None);
    }

    pub fn size_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Option<Vec<u8>>>() + self.values.len() * self.length
    }

    /// Error 3513 for a string of another length than those before it.
    pub fn add(&mut self, group: usize, bytes: &[u8]) -> Result<()> {
        let Some(value) = self.values.get_mut(group) else {
            return Ok(());
        };
        let Some(value) = value else {
            *value = Some(bytes.to_vec());
            return Ok(());
        };
        if value.len() != bytes.len() {
            return Err(Error::new(
                errno::ER_INVALID_BITWISE_OPERANDS_SIZE,
                "Binary operands of bitwise operators must be of equal length",
            ));
        }
        for (value, byte) in value.iter_mut().zip(bytes) {
            match self.function {
                AggregateFunction::BitAnd => *value &= byte,
                AggregateFunction::BitOr => *value |= byte,
                _ => *value ^= byte,
            }
        }
        Ok(())
    }

    /// Adds the values of a group of `later`.
    pub fn append(&mut self, later: &Self, group: usize) -> Result<()> {
        let later = later.values.get(group).and_then(Option::as_ref);
        later.map_or(Ok(()), |bytes| self.add(group, bytes))
    }

    pub fn get(&self, group: usize) -> Vec<u8> {
        let of_none = if self.function == AggregateFunction::BitAnd {
            u8::MAX
        } else {
            0
        };
        let value = self.values.get(group).and_then(Option::as_ref);
        value.map_or_else(|| vec![of_none; self.length], Vec::clone)
    }
}
